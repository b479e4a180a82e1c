import HearthEtcdMessages
import HearthRealtimeDatabase
import Testing
import HearthReplicatedLog

/// A request that was given up may still be under way, and be carried out at any time after its repetition.
@Suite("Requests of a log that are carried out late") struct LateRequestTests {
    private let keys = LogKeys(database: "d")
    private var engine = SimulatedEngine()

    private func partCount() -> Int { engine.values.keys.count(where: keys.parts(from: 0, upTo: nil).contains) }

    private static func removesParts(_ transaction: EtcdTransaction) -> Bool {
        transaction.success.contains { if case .delete(let keys) = $0 { isOfParts(keys) } else { false } }
    }

    private static func isOfParts(_ keys: EtcdKeyRange) -> Bool { keys.start.starts(with: "/hearth/1/part/".utf8) }

    @Test("what an owner removes of earlier owners is nothing of its own batches")
    mutating func tidying() throws {
        var owner = LoneLog("a", rank: 0, &engine)
        #expect(owner.log.isOwner)
        let request = try #require(owner.made.first(where: Self.removesParts))
        owner.append(bytes: 350)
        for _ in 0..<20 where partCount() == 0 { owner.answer(&engine) }
        #expect(partCount() == 1)
        _ = engine.apply(request)
        owner.run(&engine)
        #expect(owner.log.position.sequence == 1)
        _ = engine.apply(request)
        #expect(partCount() == 4)
        let reader = LoneLog("b", rank: nil, &engine)
        #expect(reader.followed == [1])
    }

    @Test("an owner removes the parts of a batch that an earlier one did not finish")
    mutating func leftovers() {
        var owner = LoneLog("a", rank: 0, &engine)
        owner.append(bytes: 350)
        for _ in 0..<20 where partCount() < 2 { owner.answer(&engine) }
        #expect(partCount() == 2)
        engine.end(owner.lease)
        var next = LoneLog("b", rank: 0, &engine)
        #expect(next.log.isOwner)
        #expect(partCount() == 0)
        next.append(bytes: 350)
        next.run(&engine)
        #expect(partCount() == 4)
    }

    @Test("a batch without its parts is reported, and looked for again after a pause")
    mutating func missingParts() throws {
        var owner = LoneLog("a", rank: 0, &engine)
        owner.append(bytes: 350)
        owner.run(&engine)
        let parts = engine.values.values.filter { keys.parts(from: 0, upTo: nil).contains($0.key) }
        #expect(parts.count == 4)
        _ = engine.apply(EtcdTransaction(then: [.delete(keys.parts(from: 0, upTo: nil))], isRepeatable: true))
        var reader = LoneLog("b", rank: nil, &engine)
        #expect(reader.damages == ["parts of the batch at 1 are missing"])
        #expect(reader.made.count < 10)
        reader.tell(.tick, after: 5000)
        reader.run(&engine)
        #expect(reader.damages.count == 2)
        #expect(reader.made.count < 20)
        // Somebody has repaired it.
        for part in parts {
            _ = engine.apply(EtcdTransaction(then: [.put(key: part.key, value: part.value)], isRepeatable: true))
        }
        reader.tell(.tick, after: 5000)
        reader.run(&engine)
        #expect(reader.followed == [1])
    }

    private var floor: UInt64? { engine.values[keys.floor].flatMap { LogTransactions.number($0.value) } }

    /// Appends some batches, and has the owner look at what may be removed.
    private mutating func appendAndTrim(_ owner: inout LoneLog) {
        // After a call that has failed, the next one is made a little later.
        owner.tell(.tick, after: 100)
        for _ in 0..<6 {
            owner.append(bytes: 50)
            owner.run(&engine)
        }
        owner.keep(&engine)
        for _ in 0..<10 {
            guard let (transaction, _) = owner.call, !setsFloor(transaction) else { return }
            owner.answer(&engine)
        }
    }

    private func setsFloor(_ transaction: EtcdTransaction) -> Bool {
        transaction.success.contains { if case .put(keys.floor, _, _) = $0 { true } else { false } }
    }

    @Test("a late request to remove batches does not put the floor of the log back")
    mutating func trimming() throws {
        var owner = LoneLog("a", rank: 0, &engine)
        appendAndTrim(&owner)
        let late = try #require(owner.call?.transaction)
        #expect(setsFloor(late))
        owner.giveUp()
        appendAndTrim(&owner)
        owner.run(&engine)
        let floor = try #require(floor)
        #expect(floor > 1)
        _ = engine.apply(late)
        #expect(self.floor == floor)
    }

    @Test("an owner goes on after a removal of batches whose answer was lost")
    mutating func trimmedUnheard() throws {
        var owner = LoneLog("a", rank: 0, &engine)
        appendAndTrim(&owner)
        let request = try #require(owner.call?.transaction)
        _ = engine.apply(request)
        owner.giveUp()
        let first = try #require(floor)
        #expect(first > 1)
        appendAndTrim(&owner)
        owner.run(&engine)
        #expect(try #require(floor) > first)
        #expect(owner.log.floor == floor)
        #expect(owner.log.isOwner && !owner.hasDisowned)
    }
}
