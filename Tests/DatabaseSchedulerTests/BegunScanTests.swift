import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing
import HearthDatabaseScheduler

/// Few children are visited at once when a query arrives, but only as long as others can wait for that.
@Suite("The beginning of scans")
struct BegunScanTests {
    private static let children = 500

    /// A scheduler with a list, whose every look at the clock takes so long.
    private final class Host {
        private var scheduler: DatabaseScheduler
        private(set) var answered = 0
        private var events: [Event] = []
        private let conditions = Conditions(wall: 1, uptime: 1)

        init(look: Int64) {
            final class Clock { var now: Int64 = 0 }
            let clock = Clock()
            scheduler = DatabaseScheduler(
                database: Database(index: 0, store: EmptyRowStore(), sequence: 0), limits: DatabaseLimits(),
                lastTime: 0, isClearing: false, at: conditions,
                nanoseconds: {
                    clock.now += look
                    return clock.now
                })
            handle(.opened)
            let members = (0..<children).map { #""\#($0)":{"n":\#($0)}"# }
            let list = CanonicalJSON(stringLiteral: "{\(members.joined(separator: ","))}")
            ask(.set(WriteTarget(path: "list"), IncomingValue(json: list)), by: [1])
            finish()
            answered = 0
        }

        func ask(_ operation: Operation, by clients: [UInt64]) {
            handle(
                .requests(
                    clients.map {
                        let connection = ConnectionID(loop: 0, kind: .realtime, serial: $0)
                        return Request(connection: connection, number: 1, operation: operation, client: $0)
                    }))
        }

        func finish() { while !events.isEmpty { handle(events.removeFirst()) } }

        private func handle(_ event: Event) {
            var actions: [Action] = []
            scheduler.handle(event, at: conditions, into: &actions)
            for action in actions {
                switch action {
                case .append(let record): events.append(.committed(through: record.lastSequence))
                case .step: events.append(.step)
                case .deliver(let turns):
                    for case .reply(_, _, .value) in turns.joined() { answered += 1 }
                    for case .reply(_, _, .done) in turns.joined() { answered += 1 }
                default: break
                }
            }
        }
    }

    /// One child has this, and no index finds it.
    private static func query() throws -> Query {
        try Query(index: .child("n"), start: QueryBound("7"), end: QueryBound("7"))
    }

    @Test("few children are visited at once if there is time")
    func atOnce() throws {
        let host = Host(look: 0)
        host.ask(.get("list", query: try Self.query()), by: [2, 3])
        #expect(host.answered == 2)
    }

    @Test("queries that arrive together are scanned at once for no longer than a step, and in steps after that")
    func inSteps() throws {
        let host = Host(look: 100_000)
        host.ask(.get("list", query: try Self.query()), by: Array(2..<12))
        #expect(host.answered == 0)
        host.finish()
        #expect(host.answered == 10)
    }
}
