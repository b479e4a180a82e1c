import HearthEtcdMessages
import Testing

@testable import HearthReplicatedLog

@Suite("A node whose files cannot follow the log") struct CopyNeedTests {
    /// Brings a node with files up to a position to a log with the numbers 11 to 20, of history 7.
    private static func actions(
        _ position: LogPosition
    ) throws -> (actions: [ReplicatedLog.Action], engine: SimulatedEngine) {
        var engine = SimulatedEngine()
        let keys = LogKeys(database: "d")
        let head = LogHead(epoch: 7, lastSequence: 20, lastTime: 0, lastAppend: AppendID(term: 1, number: 1))
        _ = engine.grant(5, until: .max)
        _ = try engine.apply(
            EtcdTransaction(
                then: [
                    .put(key: keys.head, value: head.bytes), .put(key: keys.floor, value: LogTransactions.number(11)),
                ], isRepeatable: true)
        ).get()
        var log = ReplicatedLog(
            database: "d", owner: OwnerRecord(node: "n", incarnation: 1), position: position, foundingEpoch: 1)
        var actions: [ReplicatedLog.Action] = []
        var events: [ReplicatedLog.Event] = [.lease(5), .tick]
        for time in 0..<20 {
            let new = (events.isEmpty ? [.tick] : events).flatMap { log.handle($0, at: Int64(time)) }
            actions += new
            events = []
            for case .call(let transaction, let serial) in new {
                events.append(.replied(serial, engine.apply(transaction)))
            }
        }
        return (actions, engine)
    }

    private static func asksForCopy(_ actions: [ReplicatedLog.Action]) -> Bool {
        actions.contains { if case .copy(epoch: 7, from: 11) = $0 { true } else { false } }
    }

    private static let kept = LogKeys(database: "d").kept(by: "n")

    @Test(
        "asks for a copy, and states that it needs the log from its beginning on, so that the owner trims no more",
        arguments: [LogPosition(epoch: 7, sequence: 9), LogPosition(epoch: nil, sequence: 0)])
    func isBehind(position: LogPosition) throws {
        let (actions, engine) = try Self.actions(position)
        #expect(Self.asksForCopy(actions))
        #expect(engine.values[Self.kept].map { LogTransactions.number($0.value) } == 10)
    }

    @Test(
        "is no reason to keep the log if no copy would help",
        arguments: [LogPosition(epoch: 8, sequence: 9), LogPosition(epoch: 7, sequence: 21)])
    func isForeign(position: LogPosition) throws {
        let (actions, engine) = try Self.actions(position)
        #expect(Self.asksForCopy(actions))
        #expect(engine.values[Self.kept] == nil)
        #expect(!position.isBehind(11, of: 7))
    }

    @Test("follows without a copy if the log begins where its files end")
    func fits() throws {
        #expect(!LogPosition(epoch: 7, sequence: 10).isBehind(11, of: 7))
        #expect(!Self.asksForCopy(try Self.actions(LogPosition(epoch: 7, sequence: 20)).actions))
    }
}
