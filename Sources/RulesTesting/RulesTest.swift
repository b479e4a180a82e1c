import HearthJSONTree
import HearthRealtimeDatabase

/// One case of a test file: steps that are made one after another on a database of its own (docs/rules.md 5).
package struct RulesTest: Sendable {
    /// As the file names it; made of the operation if it does not.
    package var name: String
    /// Where it begins in the file, counted from 1.
    package var line: Int
    /// The database before the first step. Server values in it have the time of the start.
    var data: CanonicalJSON
    /// Milliseconds since 1970.
    var start: Int64
    var steps: [Step]

    /// An action and its expected outcome.
    struct Step: Sendable {
        /// Where it begins in the file, counted from 1.
        var line: Int
        var time: Time
        var principal: Principal
        /// Tells clients apart: see ``Request/client``.
        var client: UInt64
        /// Nil of a step that only lets time pass, or looks at the data.
        var action: Action?
        var expected: Expectation
    }

    enum Time: Sendable {
        case at(Int64)
        /// Milliseconds since the step before.
        case after(Int64)
    }

    enum Action: Sendable {
        case ask(Operation)
        /// Reads the past of a place, or compares two moments of it.
        case readPast(Path, PastQuestion)
        /// Sets a place to its value as of a time.
        case restore(Path, at: Int64)
        case work(Path, Work)
    }

    /// A worker's request to a queue.
    struct Work: Sendable {
        enum Kind: Sendable {
            case claim(count: Int)
            case extend(Key)
            case done(Key, [(target: WriteTarget, value: IncomingValue)])
            case fail(Key, error: [UInt8], JobOperation.Retry)
            case giveBack(Key)
        }

        var kind: Kind
        /// Nil for that of the queue.
        var lease: Int64?
        /// Tells workers apart, who know the numbers of their own claims alone.
        var worker: [UInt8]
    }

    /// The expected outcome of a step. Nil or empty members are not checked. Server values have the time of the step.
    struct Expectation: Sendable {
        var isAllowed: Bool?
        /// The word for its refusal (``RulesTestOutcome``).
        var why: String?
        /// Milliseconds after which it would be allowed.
        var retry: Int64?
        /// The answer to a read.
        var answer: CanonicalJSON?
        /// The keys of the jobs that are handed out.
        var jobs: [[UInt8]]?
        /// The events of triggers, in any order.
        var events: [Event]?
        /// The values at some places afterwards, in the order of the file.
        var values: [(path: Path, value: CanonicalJSON)] = []
    }

    /// An event of a trigger; a nil `path` matches any place.
    struct Event: Hashable, Sendable {
        var trigger: String
        var path: Path?
    }
}
