import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing
import HearthDatabaseScheduler

@Suite("A database whose process ends")
struct SettlingTests {
    /// Carries out what concerns the log, and hands the rest to the test.
    private final class Host {
        var scheduler: DatabaseScheduler
        var uptime: Int64 = 1000
        /// Rows that were handed to the store, and have not been written.
        var writing: FrozenRows?
        var hasFailedLargeReads = false
        /// The numbers of requests that were answered, and of those that were turned away.
        private(set) var answered: [Int64] = []
        private(set) var turnedAway: [Int64] = []
        var isSettled: Bool { scheduler.isSettled }
        var appliedSequence: UInt64 { scheduler.appliedSequence }

        init(_ database: Database = Database(index: 0, store: EmptyRowStore(), sequence: 0)) {
            scheduler = DatabaseScheduler(
                database: database, limits: DatabaseLimits(), lastTime: 0, isClearing: false,
                at: Conditions(wall: 1, uptime: 1), nanoseconds: { 0 })
            handle(.opened)
        }

        /// A host that has written one value.
        static func used() -> Host {
            let host = Host()
            host.ask(1, .set(WriteTarget(path: "a"), IncomingValue(json: "1")))
            return host
        }

        func ask(_ number: Int64, _ operation: Operation, from client: UInt64 = 1) {
            let connection = ConnectionID(loop: 0, kind: .realtime, serial: client)
            handle(.requests([Request(connection: connection, number: number, operation: operation, client: client)]))
        }

        func handle(_ event: Event) {
            var actions: [Action] = []
            scheduler.handle(event, at: Conditions(wall: 1, uptime: uptime), into: &actions)
            for action in actions {
                switch action {
                case .append(let record): handle(.committed(through: record.lastSequence))
                case .step: handle(.step)
                case .freeze(let behindOthers): handle(.freeze(behindOthers: behindOthers))
                case .write(let frozen): writing = frozen
                case .prepare(let request, let preparation, let serial):
                    handle(.prepared(preparation.prepared(request), serial: serial))
                case .deliver(let turns):
                    for case .reply(_, let number, _) in turns.joined() { answered.append(number) }
                case .turnAway(let requests): turnedAway += requests.map(\.number)
                case .failLargeReads: hasFailedLargeReads = true
                default: break
                }
            }
        }

        /// The store has some of the rows.
        func writeSome() throws {
            let frozen = try #require(writing)
            writing = nil
            handle(.wroteSome(frozen))
        }
    }

    @Test("waits until the store has everything")
    func waiting() throws {
        let host = Host.used()
        host.handle(.settle)
        #expect(!host.isSettled)
        try host.writeSome()
        let frozen = try #require(host.writing)
        host.handle(.written(frozen, nil, isClearing: false))
        #expect(host.isSettled)
        #expect(host.appliedSequence == 1)
    }

    @Test("leaves rows of a large value to the log that would take long")
    func leaving() throws {
        let host = Host.used()
        host.handle(.settle)
        host.uptime += 900
        try host.writeSome()
        #expect(host.writing != nil)
        #expect(!host.isSettled)
        host.uptime += 100
        try host.writeSome()
        #expect(host.writing == nil)
        #expect(host.isSettled)
        #expect(host.hasFailedLargeReads)
        // The store does not claim to have them.
        #expect(host.appliedSequence == 0)
        host.handle(.settle)
        host.handle(.tick(1))
        #expect(host.writing == nil)
        #expect(host.isSettled)
    }

    /// Too large to be kept as changed rows.
    private static func large(_ path: Path) -> Operation {
        let members = (0..<6000).map { #""k\#($0)":"\#(String(repeating: "x", count: 50))""# }
        let value = CanonicalJSON(stringLiteral: "{\(members.joined(separator: ","))}")
        return .set(WriteTarget(path: path), IncomingValue(json: value))
    }

    @Test("turns large writes away that would wait for such rows, and what their connections have asked after them")
    func largeWrites() throws {
        let host = Host.used()
        let small = Operation.set(WriteTarget(path: "b"), IncomingValue(json: "2"))
        host.ask(2, Self.large("x"))
        let first = try #require(host.writing)
        host.ask(3, Self.large("y"), from: 2)
        host.ask(4, small, from: 2)
        host.ask(5, .onDisconnect([(WriteTarget(path: "gone"), IncomingValue(json: "true"))]), from: 3)
        host.ask(6, Self.large("z"), from: 3)
        host.ask(7, .disconnect, from: 3)
        host.ask(8, small, from: 4)
        host.handle(.written(first, nil, isClearing: false))
        host.handle(.settle)
        try host.writeSome()
        #expect(host.answered == [1, 2, 5, 8])
        #expect(host.turnedAway.isEmpty)
        #expect(!host.isSettled)
        host.uptime += 1000
        try host.writeSome()
        host.handle(.settle)
        #expect(host.answered == [1, 2, 5, 8])
        #expect(host.turnedAway == [3, 4, 6])
        #expect(host.isSettled)
        #expect(host.scheduler.database.creditors.isEmpty)
    }

    @Test("is continued by one that does not keep large writes waiting for those that the log has")
    func replayed() throws {
        let database = Database(index: 0, store: EmptyRowStore(), sequence: 0)
        guard case .set(let target, let value, _, _) = Self.large("x") else { return }
        try database.replay([
            LoggedOperation(
                sequence: 1, time: 1, uid: [],
                content: .change(.set(Assignment(target: target, value: value.json))))
        ])
        // Not with the first tick.
        #expect(Host(database).writing != nil)
    }
}
