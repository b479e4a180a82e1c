import HearthEtcdMessages
import HearthRealtimeDatabase
import Testing
import HearthReplicatedLog

/// An attempt of a call takes a second at most. What a slow link does not bring by then is read in smaller pieces.
@Suite("Reading a log over a slow link") struct SlowReadTests {
    private let keys = LogKeys(database: "d")
    private var engine = SimulatedEngine()

    /// The parts that a request reads, if it reads any.
    private func partsRead(_ transaction: EtcdTransaction) -> [Int]? {
        guard case .range(let range)? = transaction.success.first,
            keys.parts(from: 0, upTo: nil).contains(range.keys.start)
        else { return nil }
        return engine.values.keys.filter(range.keys.contains).compactMap { key in
            Int(String(decoding: key.suffix(6), as: UTF8.self))
        }.sorted()
    }

    /// How many batches a request reads after the first one, if it reads any.
    private func limitRead(_ transaction: EtcdTransaction) -> Int64? {
        guard case .range(let range)? = transaction.success.dropFirst(4).first else { return nil }
        return range.limit
    }

    @Test("the parts of a batch are read some at a time, and those that have come are not read again")
    mutating func parts() {
        var owner = LoneLog("a", rank: 0, &engine)
        owner.append(bytes: 950)
        owner.run(&engine)
        var reader = LoneLog("b", rank: nil, isRunning: false, &engine)
        // The log.
        reader.answer(&engine)
        reader.answer(&engine)
        reader.giveUp()
        reader.tell(.tick, after: 100)
        reader.run(&engine)
        let reads = reader.made.compactMap { partsRead($0) }
        #expect(reads == [[0, 1, 2, 3], [4, 5, 6, 7], [4, 5], [6, 7, 8, 9]])
        #expect(reader.followed == [1])
        #expect(reader.damages == [])
    }

    @Test("parts that were removed while others were read lead back to the log")
    mutating func removedParts() {
        var owner = LoneLog("a", rank: 0, &engine)
        owner.append(bytes: 950)
        owner.run(&engine)
        var reader = LoneLog("b", rank: nil, isRunning: false, &engine)
        reader.answer(&engine)
        reader.answer(&engine)
        owner.append(bytes: 50)
        owner.run(&engine)
        owner.keep(&engine)
        owner.run(&engine)
        #expect(owner.log.floor == 2)
        reader.run(&engine)
        #expect(reader.log.following == .copying)
        #expect(reader.damages == [])
    }

    @Test("fewer batches are read after an attempt without an answer, and more again once reads are quick")
    mutating func batches() {
        var owner = LoneLog("a", rank: 0, &engine)
        for _ in 0..<20 {
            owner.append(bytes: 50)
            owner.run(&engine)
        }
        var reader = LoneLog("b", rank: nil, isRunning: false, &engine)
        for _ in 0..<3 {
            reader.giveUp()
            reader.tell(.tick, after: 100)
        }
        // Not reached, so not too slow.
        reader.giveUp(.unavailable("refused"))
        reader.tell(.tick, after: 100)
        for milliseconds in [900, 900, 100, 900, 100] as [Int64] { reader.answer(&engine, after: milliseconds) }
        let limits = reader.made.compactMap { limitRead($0) }
        #expect(limits == [4, 2, 1, 1, 1, 1, 1, 2, 2, 4])
        reader.run(&engine)
        #expect(reader.followed == Array(1...20))
    }
}
