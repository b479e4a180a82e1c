import HearthEtcdMessages
import HearthRealtimeDatabase
import Testing
import HearthReplicatedLog

@Suite("What the store keeps of a log") struct TrimmingTests {
    private let keys = LogKeys(database: "d")
    private var engine = SimulatedEngine()

    private static let options: ReplicatedLog.Options = {
        var options = LoneLog.options
        options.tailBytesMin = 4000
        options.stretchBytes = 400
        return options
    }()

    private var bytes: Int {
        engine.values.values.filter {
            keys.isBatch($0.key) || keys.parts(from: 0, upTo: nil).contains($0.key)
        }.reduce(0) { $0 + $1.value.count }
    }

    /// Has so many bytes appended, about, and the owner look at what may be removed.
    private mutating func append(_ count: Int, to owner: inout LoneLog) {
        let end = bytes + count
        while bytes < end {
            owner.append(bytes: 20)
            owner.run(&engine)
            owner.append(bytes: 250)
            owner.run(&engine)
        }
        owner.keep(&engine)
        owner.run(&engine)
    }

    @Test("has its limit, and is not much less, however often the nodes are started again")
    mutating func restarts() {
        var owner = LoneLog("a", rank: 0, options: Self.options, &engine)
        for round in 0..<10 {
            append(Self.options.tailBytesMin * 3 / 4, to: &owner)
            #expect(bytes <= Self.options.tailBytesMin + Self.options.stretchBytes, "round \(round)")
            #expect(bytes >= Self.options.tailBytesMin / 2, "round \(round)")
            engine.end(owner.lease)
            owner = LoneLog("a", rank: 0, at: owner.log.position, options: Self.options, &engine)
            #expect(owner.log.isOwner)
        }
    }

    @Test("has its limit if another node takes the log over after each start")
    mutating func changes() {
        var names = ["a", "b"]
        var owner = LoneLog(names[0], rank: 0, options: Self.options, &engine)
        for round in 0..<10 {
            append(Self.options.tailBytesMin / 4, to: &owner)
            #expect(bytes <= Self.options.tailBytesMin + Self.options.stretchBytes, "round \(round)")
            engine.end(owner.lease)
            names.reverse()
            owner = LoneLog(names[0], rank: 0, at: owner.log.position, options: Self.options, &engine)
            #expect(owner.log.isOwner)
        }
        #expect(bytes >= Self.options.tailBytesMin / 2)
    }
}
