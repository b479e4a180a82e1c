import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthDatabaseScheduler

/// Updates of very many scattered places are one step each. They are kept apart, so that small writes seldom wait.
@Suite("Long turns")
struct LongTurnTests {
    private static let millisecond: Int64 = 1_000_000

    @Test(
        "take a fifth of the time, and beyond 20 ms a hundredth",
        arguments: [(1, 4), (20, 80), (21, 84 + 100), (50, 200 + 3000)] as [(Int64, Int64)])
    func shares(duration: Int64, pause: Int64) {
        var turns = LongTurns(pauses: DatabaseLimits().longTurnPauses)
        #expect(turns.mayBegin(at: 0))
        let end = 1000 * Self.millisecond
        turns.ended(at: end, after: duration * Self.millisecond)
        #expect(!turns.mayBegin(at: end + pause * Self.millisecond - 1))
        #expect(turns.mayBegin(at: end + pause * Self.millisecond))
    }

    /// A scheduler whose clock moves when it is looked at, and when the test says so.
    private final class Host {
        final class Clock {
            var now: Int64 = 0
            /// The time between two looks.
            var look: Int64 = 0
        }

        let clock = Clock()
        private(set) var scheduler: DatabaseScheduler
        /// The numbers of the requests that were answered with success, in order.
        private(set) var done: [Int64] = []
        /// The same of those that failed.
        private(set) var failed: [Int64] = []
        var failsCommits = false
        private var events: [Event] = []
        private let conditions = Conditions(wall: 1, uptime: 1)

        init() throws {
            scheduler = DatabaseScheduler(
                database: Database(index: 0, store: EmptyRowStore(), sequence: 0), limits: DatabaseLimits(),
                lastTime: 0, isClearing: false, at: conditions,
                nanoseconds: { [clock] in
                    clock.now += clock.look
                    return clock.now
                })
            handle(.opened)
            let rules = #"{"rules": {".write": true}}"#
            handle(.rules(try RulesProgram(parsing: Array(rules.utf8)), explainsDenials: false))
            finish()
        }

        func handle(_ event: Event) {
            var actions: [Action] = []
            scheduler.handle(event, at: conditions, into: &actions)
            for action in actions {
                switch action {
                case .append where failsCommits: events.append(.commitFailed(.storage(.full)))
                case .append(let record): events.append(.committed(through: record.lastSequence))
                case .resumeLog: events.append(.commitsDropped)
                case .readLog: events.append(.logRead(.failure(.inputOutput("unreadable"))))
                case .step: events.append(.step)
                case .prepare(let request, let preparation, let serial):
                    events.append(.prepared(preparation.prepared(request), serial: serial))
                case .deliver(let turns):
                    for case .reply(_, let number, let reply) in turns.joined() {
                        if case .done = reply { done.append(number) } else { failed.append(number) }
                    }
                default: break
                }
            }
        }

        func finish() { while !events.isEmpty { handle(events.removeFirst()) } }

        /// Each request comes from a connection of its own, and, unless it is said otherwise, from a client of its own.
        func ask(
            _ number: Int64, _ operation: HearthRealtimeDatabase.Operation, as principal: Principal = .nobody,
            of client: UInt64? = nil, from connection: ConnectionID? = nil
        ) {
            let connection = connection ?? ConnectionID(loop: 0, kind: .realtime, serial: UInt64(number))
            handle(
                .requests([
                    Request(
                        connection: connection, number: number, principal: principal, operation: operation,
                        client: client ?? UInt64(number))
                ]))
            finish()
        }

        /// An update that takes a long turn.
        func update(
            _ number: Int64, as principal: Principal = .nobody, of client: UInt64? = nil,
            from connection: ConnectionID? = nil
        ) {
            let entries = (0...DatabaseLimits().rowsOfShortTurnMax).map { place in
                (WriteTarget(path: Path(stringLiteral: "u\(place)/v\(number)")), IncomingValue(json: "1"))
            }
            ask(number, .update(base: .root, entries), as: principal, of: client, from: connection)
        }

        func set(_ number: Int64, _ value: CanonicalJSON) {
            ask(number, .set(WriteTarget(path: Path(stringLiteral: "s\(number)")), IncomingValue(json: value)))
        }

        /// Time passes, in seconds.
        func pass(_ seconds: Int64) {
            clock.now += seconds * 1000 * LongTurnTests.millisecond
            handle(.tick(1))
            finish()
        }
    }

    /// One turn of 5,001 rows has taken long.
    private func hostAfterLongTurn() throws -> Host {
        let host = try Host()
        host.clock.look = 30 * Self.millisecond
        host.update(1)
        #expect(host.done == [1])
        host.clock.look = 0
        return host
    }

    private static let largeText = CanonicalJSON(
        trusted: Array("\"\(String(repeating: "x", count: 200_000))\"".utf8))

    @Test("wait for their time, one at a time, while all other writes go on")
    func order() throws {
        let host = try hostAfterLongTurn()
        for number: Int64 in 2...4 { host.update(number) }
        host.set(5, "1")
        host.set(6, Self.largeText)
        host.pass(0)
        #expect(host.done == [1, 5, 6])
        #expect(host.scheduler.waitingCount == 3)
        host.clock.look = 30 * Self.millisecond
        for last: Int64 in 2...4 {
            host.pass(60)
            #expect(host.done.last == last)
        }
        #expect(host.scheduler.waitingCount == 0)
    }

    @Test("of one client do not keep another one waiting for all of them")
    func fairness() throws {
        let host = try hostAfterLongTurn()
        for number: Int64 in 2...6 { host.update(number, of: 2) }
        host.update(7, of: 7)
        host.clock.look = 30 * Self.millisecond
        for _ in 0..<2 { host.pass(60) }
        #expect(host.done == [1, 2, 7])
    }

    @Test("a new one comes after those that wait")
    func new() throws {
        let host = try hostAfterLongTurn()
        host.update(2)
        host.clock.look = 30 * Self.millisecond
        host.clock.now += 60_000 * Self.millisecond
        host.update(3)
        #expect(host.done == [1, 2])
        host.pass(60)
        #expect(host.done == [1, 2, 3])
    }

    @Test("are refused with all others that wait, if a commit fails and memory cannot be built again")
    func refusal() throws {
        let host = try hostAfterLongTurn()
        host.update(2)
        host.failsCommits = true
        host.set(3, "1")
        #expect(host.failed.contains(2))
    }

    @Test("that other nodes forward do not wait")
    func forwarded() throws {
        let host = try hostAfterLongTurn()
        host.update(2, from: ConnectionID(forwarded: .realtime, link: 0, serial: 2))
        #expect(host.done == [1, 2])
    }

    @Test("of administrators do not wait")
    func administrators() throws {
        let host = try hostAfterLongTurn()
        host.update(2, as: .administrator)
        #expect(host.done == [1, 2])
    }

    @Test("come at once when the process ends")
    func end() throws {
        let host = try hostAfterLongTurn()
        for number: Int64 in 2...4 { host.update(number) }
        host.handle(.settle)
        host.finish()
        #expect(host.done == [1, 2, 3, 4])
    }
}
