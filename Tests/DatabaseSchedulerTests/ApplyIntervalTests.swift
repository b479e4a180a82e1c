import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing
import HearthDatabaseScheduler

/// Rows that change again and again are written once in an interval, which is shorter while much is logged, and not
/// while small requests wait.
@Suite("Changed rows are written to the tree file")
struct ApplyIntervalTests {
    private static let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 1000))

    /// How many times the store got rows in some ticks, in each of which one value is set a number of times.
    private static func writes(inTicks ticks: Int, setsPerTick: Int) -> Int {
        var limits = DatabaseLimits()
        limits.replayedBytesSoft = 200_000
        // All but the first set of a tick wait for their turn.
        limits.turnTimeMax = .zero
        limits.changedBytesBulk = 1
        let conditions = Conditions(wall: 1, uptime: 1)
        var scheduler = DatabaseScheduler(
            database: Database(index: 0, store: EmptyRowStore(), sequence: 0), limits: limits, lastTime: 0,
            isClearing: false, at: conditions, nanoseconds: { 0 })
        var count = 0
        func handle(_ event: Event) {
            var actions: [Action] = []
            scheduler.handle(event, at: conditions, into: &actions)
            for action in actions {
                switch action {
                case .append(let record): handle(.committed(through: record.lastSequence))
                case .step: handle(.step)
                case .freeze(let behindOthers): handle(.freeze(behindOthers: behindOthers))
                case .write(let frozen):
                    count += 1
                    handle(.written(frozen, nil, isClearing: false))
                default: break
                }
            }
        }
        handle(.opened)
        var number: Int64 = 0
        for tick in 1...ticks {
            let sets = (0..<setsPerTick).map { _ in
                number += 1
                let set = Operation.set(WriteTarget(path: "a"), IncomingValue(json: text))
                let connection = ConnectionID(loop: 0, kind: .realtime, serial: 1)
                return Request(connection: connection, number: number, operation: set, client: 1)
            }
            handle(.requests(sets))
            handle(.tick(tick))
        }
        return count
    }

    @Test("every ten seconds")
    func seldom() { #expect(Self.writes(inTicks: 100, setsPerTick: 1) == 2) }

    @Test("every two seconds if the log has grown by what is read quickly after a crash")
    func busy() { #expect(Self.writes(inTicks: 100, setsPerTick: 40) == 10) }

    @Test("as soon as the log has grown by that, if it takes longer than two seconds")
    func between() { #expect(Self.writes(inTicks: 100, setsPerTick: 10) == 5) }
}
