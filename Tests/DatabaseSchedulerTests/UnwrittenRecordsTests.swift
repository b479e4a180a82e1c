import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing
import HearthDatabaseScheduler

/// Records on their way to the log are limited, so that no client waits for all the data of another one.
@Suite("Records that the log does not have yet")
struct UnwrittenRecordsTests {
    private static func set(_ bytes: Int, from client: UInt64, _ number: Int64) -> Request {
        let value = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: bytes))
        return Request(
            connection: ConnectionID(loop: 0, kind: .realtime, serial: client), number: number,
            operation: .set(WriteTarget(path: client == 1 ? "many" : "one"), IncomingValue(json: value)), client: client
        )
    }

    @Test(
        "a small write comes after a bounded amount of large ones, not after all that wait",
        arguments: [1_000, 100_000])
    func bound(size: Int) throws {
        var limits = DatabaseLimits()
        limits.unwrittenBytesMax = 200_000
        let conditions = Conditions(wall: 1, uptime: 1)
        var scheduler = DatabaseScheduler(
            database: Database(index: 0, store: EmptyRowStore(), sequence: 0), limits: limits, lastTime: 0,
            isClearing: false, at: conditions, nanoseconds: { 0 })
        var records: [LogRecord] = []
        /// Handles events until none follows from another, but tells nothing of commits.
        func handle(_ event: Event) {
            var events = [event]
            while let event = events.popLast() {
                var actions: [Action] = []
                scheduler.handle(event, at: conditions, into: &actions)
                for action in actions {
                    switch action {
                    case .append(let record): records.append(record)
                    case .step: events.append(.step)
                    case .freeze(let behindOthers): events.append(.freeze(behindOthers: behindOthers))
                    default: break
                    }
                }
            }
        }
        handle(.opened)
        let count = 2_000_000 / size
        for number in 1...count { handle(.requests([Self.set(size, from: 1, Int64(number))])) }
        let first = records
        #expect(first.reduce(0) { $0 + $1.byteCount } >= 200_000)
        #expect(first.reduce(0) { $0 + $1.byteCount } < 200_000 + size + 100)
        handle(.requests([Self.set(10, from: 2, 1)]))
        #expect(records.count == first.count, "there is no room")

        let last = try #require(first.last).lastSequence
        handle(.committed(through: last))
        let next = try #require(records[first.count...].first)
        let paths = try next.operations().compactMap { operation in
            if case .change(let change) = operation.content { change.assignments.first?.target.path } else { nil }
        }
        // Those who have waited share the first turn.
        #expect(paths.contains("one"), "\(paths)")
        while let last = records.last?.lastSequence, scheduler.database.durableSequence < last {
            handle(.committed(through: last))
        }
        #expect(scheduler.database.sequence == UInt64(count + 1))
        #expect(scheduler.database.unwrittenBytes == 0)
    }
}
