package import HearthJSONTree

/// What a worker asks of a queue (Protocol.md 18.4). `claim` is the number of the claim by which it has a job.
package enum JobOperation: Sendable {
    /// How long a worker waits if there is no job for it.
    package enum Wait: Sendable {
        case none
        /// From the arrival of the request on.
        case milliseconds(Int64)
        /// Milliseconds since 1970.
        case until(Int64)

        func deadline(now: Int64) -> Int64? {
            switch self {
            case .none: nil
            case .milliseconds(let time): now + time
            case .until(let time): time
            }
        }
    }

    /// The action for a failed job.
    package enum Retry: Hashable, Sendable {
        /// It waits as long as the queue says, and is dead after its last attempt.
        case later
        /// It waits for so many milliseconds, and is dead after its last attempt.
        case after(Int64)
        /// It is dead.
        case never
    }

    /// Hands out up to so many jobs, for so many milliseconds.
    case claim(count: Int, lease: Int64?, wait: Wait)
    case extend(Key, claim: Int64, lease: Int64?)
    /// The job is done: it goes in one commit with these writes, whose targets are absolute.
    case done(Key, claim: Int64, [(target: WriteTarget, value: IncomingValue)])
    /// `error` is for people.
    case fail(Key, claim: Int64, error: [UInt8], Retry)
    /// The job was not begun.
    case giveBack(Key, claim: Int64)

    /// Jobs that one request can be answered with.
    package static let countMax = 100
    /// The longest wait, in milliseconds.
    package static let waitMax: Int64 = 60_000

    package var entries: [(target: WriteTarget, value: IncomingValue)] {
        if case .done(_, _, let entries) = self { entries } else { [] }
    }

    /// Whether its answer may come much later.
    package var mayWait: Bool {
        if case .claim(_, _, let wait) = self, case .none = wait { return false }
        if case .claim = self { return true }
        return false
    }
}
