import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing

@testable import HearthDatabaseScheduler

@Suite("A database whose process ends")
struct SettlingTests {
    /// Carries out what concerns the log, and hands the rest to the test.
    private final class Host {
        var scheduler: DatabaseScheduler
        var uptime: Int64 = 1000
        /// Rows that were handed to the store, and have not been written.
        var writing: FrozenRows?
        var hasFailedLargeReads = false
        var isSettled: Bool { scheduler.isSettled }
        var appliedSequence: UInt64 { scheduler.appliedSequence }

        init() {
            scheduler = DatabaseScheduler(
                database: Database(index: 0, store: EmptyRowStore(), sequence: 0), limits: DatabaseLimits(),
                lastTime: 0, isClearing: false, at: Conditions(wall: 1, uptime: 1), nanoseconds: { 0 })
            handle(.opened)
            let operation = Operation.set(WriteTarget(path: "a"), IncomingValue(json: "1"))
            let connection = ConnectionID(loop: 0, kind: .realtime, serial: 1)
            handle(.requests([Request(connection: connection, number: 1, operation: operation, client: 1)]))
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
        let host = Host()
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
        let host = Host()
        host.handle(.settle)
        host.uptime += 900
        try host.writeSome()
        #expect(host.writing != nil && !host.isSettled)
        host.uptime += 100
        try host.writeSome()
        #expect(host.writing == nil && host.isSettled)
        #expect(host.hasFailedLargeReads)
        // The store does not claim to have them.
        #expect(host.appliedSequence == 0)
        host.handle(.settle)
        host.handle(.tick(1))
        #expect(host.writing == nil && host.isSettled)
    }
}
