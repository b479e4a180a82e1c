import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthTestSupport
import Testing
import HearthDatabaseScheduler

/// The rules are asked about a large write in steps, so that others do not wait for all of its children.
@Suite("The rules of a large write")
struct LargeDecisionTests {
    private static let rules = #"""
        {"rules": {".write": true, "list": {"$item": {".validate": "root.child('open').val() === true"}}}}
        """#

    /// A scheduler whose every look at the clock takes a while, and which does one thing at a time.
    private final class Host {
        var scheduler: DatabaseScheduler
        private(set) var steps = 0
        /// The paths that were written, in order, and the replies.
        private(set) var written: [String] = []
        private(set) var replies: [String] = []
        private var events: [Event] = []
        private let conditions = Conditions(wall: 1, uptime: 1)

        init() throws {
            final class Clock { var now: Int64 = 0 }
            let clock = Clock()
            scheduler = DatabaseScheduler(
                database: Database(index: 0, store: EmptyRowStore(), sequence: 0), limits: DatabaseLimits(),
                lastTime: 0, isClearing: false, at: conditions,
                nanoseconds: {
                    clock.now += 500_000
                    return clock.now
                })
            handle(.opened)
            handle(.rules(try RulesProgram(parsing: Array(LargeDecisionTests.rules.utf8)), explainsDenials: true))
            set("open", "true")
            finish()
        }

        func handle(_ event: Event) {
            if case .step = event { steps += 1 }
            var actions: [Action] = []
            scheduler.handle(event, at: conditions, into: &actions)
            for action in actions {
                switch action {
                case .append(let record):
                    for operation in (try? record.operations()) ?? [] {
                        guard case .change(let change) = operation.content else { continue }
                        written += change.assignments.map { "\($0.target.path)" }
                    }
                    events.append(.committed(through: record.lastSequence))
                case .step: events.append(.step)
                case .deliver(let turns):
                    for case .reply(_, let number, let reply) in turns.joined() { replies.append("\(number) \(reply)") }
                default: break
                }
            }
        }

        /// False if there is nothing to do.
        func goOn() -> Bool {
            if events.isEmpty { return false }
            handle(events.removeFirst())
            return true
        }

        func finish() { while goOn() {} }

        func set(_ path: Path, _ value: CanonicalJSON, number: Int64 = 1, from client: UInt64 = 1, times: Int64 = 1) {
            let operation = Operation.set(WriteTarget(path: path), IncomingValue(json: value))
            let connection = ConnectionID(loop: 0, kind: .realtime, serial: client)
            handle(
                .requests(
                    (0..<times).map { time in
                        Request(connection: connection, number: number + time, operation: operation, client: client)
                    }))
        }
    }

    private static let list: CanonicalJSON = {
        let members = (1000..<3000).map { #""i\#($0)":"\#(String(repeating: "x", count: 50))""# }
        return CanonicalJSON(trusted: Array("{\(members.joined(separator: ","))}".utf8))
    }()

    @Test("are asked in steps, and small writes come in between")
    func steps() throws {
        let host = try Host()
        let before = host.steps
        host.set("list", Self.list, from: 2)
        for _ in 0..<10 { #expect(host.goOn()) }
        host.set("small", "1", number: 2)
        host.finish()
        #expect(host.steps - before > 20)
        #expect(host.written == ["/open", "/small", "/list"])
    }

    @Test("are asked in steps, each of which begins with small writes of the clients that have had the least time")
    func order() throws {
        let host = try Host()
        host.set("list", Self.list, from: 2)
        // More than a turn has time for.
        host.set("many", "1", from: 3, times: 200)
        for number: Int64 in 1...10 {
            let steps = host.steps
            host.set("small", "1", number: number, from: 4)
            while host.steps == steps { #expect(host.goOn()) }
            #expect(host.written.count { $0 == "/small" } == number)
        }
        #expect(!host.written.contains("/list"))
        host.finish()
        #expect(host.written.last == "/list")
        #expect(host.written.count { $0 == "/many" } == 200)
    }

    @Test("are asked again if what they looked at has changed")
    func change() throws {
        let host = try Host()
        host.set("list", Self.list, number: 7, from: 2)
        for _ in 0..<10 { #expect(host.goOn()) }
        host.set("open", "false", number: 2)
        host.finish()
        #expect(host.written == ["/open", "/open"])
        let reply = try #require(host.replies.first { $0.hasPrefix("7 ") })
        #expect(reply.contains("denied"))
        #expect(host.scheduler.database.takeDenials().isEmpty)
    }

    /// Changes what the rules look at again and again, and makes other writes.
    @Test("are asked in steps however often that changes: in the end, writes there wait for the large one")
    func changes() throws {
        let host = try Host()
        host.set("list", Self.list, number: 7, from: 2)
        var changes: Int64 = 0
        var smallAfterChange = 0
        while changes < 1000, !host.written.contains("/list") {
            if changes == 0 || host.replies.contains(where: { $0.hasPrefix("\(1000 + changes) ") }) {
                changes += 1
                smallAfterChange = 0
                host.set("open", "true", number: 1000 + changes)
            }
            smallAfterChange += 1
            host.set("small", "1", number: 10_000, from: 3)
            for _ in 0..<5 { _ = host.goOn() }
        }
        // The last change has waited. Meanwhile the decision was made in steps, beside small writes.
        #expect(host.written.count { $0 == "/open" } == changes)
        #expect(changes > 4 && changes < 100)
        #expect(smallAfterChange > 20)
        host.finish()
        #expect(host.written.count { $0 == "/open" } == changes + 1)
        #expect(host.written.last { $0 != "/small" } == "/open")
    }
}
