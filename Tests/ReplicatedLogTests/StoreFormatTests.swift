import HearthEtcdMessages
import Testing
import HearthReplicatedLog

@Suite("What the nodes of a cluster may write into the store") struct StoreFormatTests {
    private var engine = SimulatedEngine()

    private mutating func register(_ node: String, reads: StoreFormat? = .latest) throws {
        #expect(engine.grant(1, until: .max) || engine.leases[1] != nil)
        var registration = NodeRecord(incarnation: 1, address: "").registration(of: node, lease: 1)
        if reads == nil {
            // An earlier version states nothing.
            registration = EtcdTransaction(
                if: registration.comparisons, then: Array(registration.success.prefix(1)), isRepeatable: true)
        }
        _ = try engine.apply(registration).get()
    }

    private mutating func overview() throws -> FormatOverview {
        FormatOverview(try engine.apply(FormatOverview.request).get())
    }

    @Test("a new cluster has the latest format, one with databases the first") mutating func beginning() throws {
        #expect(try overview().format == .plain)
        let seen = try overview()
        try register("a")
        let early = try #require(seen.beginning)
        #expect(try !engine.apply(early).get().hasSucceeded, "a node that may not read it")
        engine.beginFormat()
        #expect(try overview().format == .latest)
        #expect(try overview().beginning == nil)

        engine = SimulatedEngine()
        try register("b", reads: nil)
        #expect(try overview().beginning == nil)

        engine = SimulatedEngine()
        let head = LogHead(epoch: 1, lastSequence: 0, lastTime: 0, lastAppend: AppendID(term: 1, number: 0))
        let put = EtcdTransaction(
            then: [.put(key: LogKeys(database: "main").head, value: head.bytes)], isRepeatable: true)
        _ = try engine.apply(put).get()
        #expect(try overview().beginning == nil)
    }

    @Test("an operator raises it to what all nodes read that run") mutating func raising() throws {
        #expect(try overview().possible == nil)
        try register("a")
        try register("b", reads: nil)
        #expect(try overview().nodes == ["a": .latest, "b": .plain])
        #expect(try overview().possible == .plain)
        try register("c")
        let early = try overview()
        try register("d")
        #expect(try !engine.apply(early.raising(to: .compressed)).get().hasSucceeded, "a node has come")
        let seen = try overview()
        #expect(try engine.apply(seen.raising(to: .compressed)).get().hasSucceeded)
        #expect(try overview().format == .compressed)
        #expect(try engine.apply(seen.raising(to: .plain)).get().hasSucceeded == false, "another one was faster")
    }

    @Test("a value that is not one byte counts as the first format, a later one as the latest that is known")
    func values() {
        func format(_ bytes: [UInt8]) -> StoreFormat {
            StoreFormat(EtcdKeyValue(key: StoreFormat.key, value: bytes, createRevision: 1, modRevision: 1))
        }
        #expect(StoreFormat(nil) == .plain)
        #expect(format([]) == .plain)
        #expect(format([0]) == .plain)
        #expect(format([2]) == .compressed)
        #expect(format([2, 0]) == .plain)
        #expect(format([9]) == .latest)
    }
}
