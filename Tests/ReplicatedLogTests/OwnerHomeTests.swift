import HearthEtcdMessages
import Testing
import HearthReplicatedLog

@Suite("The owner's role goes home") struct OwnerHomeTests {
    private static func reply(_ last: UInt64, _ statements: [String: HeldFiles]) -> EtcdTransactionReply {
        let keys = LogKeys(database: "main")
        let head = LogHead(epoch: 7, lastSequence: last, lastTime: 0, lastAppend: AppendID(term: 1, number: 1))
        func range(_ values: [EtcdKeyValue]) -> EtcdTransactionReply.Result {
            .range(EtcdRangeReply(revision: 1, values: values, hasMore: false))
        }
        return EtcdTransactionReply(
            revision: 1, hasSucceeded: true,
            results: [
                range([EtcdKeyValue(key: keys.head, value: head.bytes, createRevision: 1, modRevision: 1)]),
                range(
                    statements.map { node, held in
                        EtcdKeyValue(key: keys.held(by: node), value: held.bytes, createRevision: 1, modRevision: 1)
                    }),
            ])
    }

    private static let holders = ["a", "b", "c"]

    private static func has(_ sequence: UInt64) -> HeldFiles { .through(epoch: 7, sequence: sequence) }

    @Test("to the first holder, once that has run for a minute and has what the log had 10 seconds ago") func late() {
        var home = OwnerHome(at: "b")
        func decide(_ time: Int64, _ last: UInt64, _ held: UInt64, since: Int64) -> String? {
            home.decide(
                "main", Self.reply(last, ["a": Self.has(held), "b": Self.has(last)]), holders: Self.holders,
                runningSince: ["a": since, "b": 0], at: time)
        }
        #expect(decide(100_000, 50, 50, since: 0) == nil)
        // It is behind, then it is not.
        #expect(decide(110_000, 60, 49, since: 0) == nil)
        #expect(decide(111_000, 60, 50, since: 60_000) == nil)
        #expect(decide(112_000, 60, 50, since: 52_000) == "a")
        // If it comes back, it stays for a while.
        #expect(decide(113_000, 60, 60, since: 0) == nil)
        #expect(decide(172_000, 60, 60, since: 0) == "a")
    }

    @Test("not again for a minute, also if the log comes back after it has left") func back() {
        var home = OwnerHome(at: "b")
        func decide(_ time: Int64) -> String? {
            home.decide(
                "main", Self.reply(50, ["a": Self.has(50)]), holders: Self.holders, runningSince: ["a": 0], at: time)
        }
        #expect(decide(100_000) == nil)
        #expect(decide(110_000) == "a")
        home.keep(only: [], at: 111_000)
        #expect(decide(112_000) == nil)
        #expect(decide(122_000) == nil)
        #expect(decide(169_000) == nil)
        #expect(decide(170_000) == "a")
    }

    @Test(
        "never from the first holder, and from others to no holder but that one",
        arguments: [HeldFiles.copying, .failing])
    func others(first: HeldFiles) {
        let reply = Self.reply(50, ["a": first, "b": Self.has(50), "c": Self.has(50)])
        let running = ["a": 0, "b": 0, "c": 0, "x": 0] as [String: Int64]
        for (node, target) in [("a", nil), ("c", nil), ("x", "b")] {
            var home = OwnerHome(at: node)
            for time in [100_000, 110_000, 111_000] as [Int64] where time < 111_000 || node != "x" {
                let found = home.decide(
                    "main", reply, holders: Self.holders, runningSince: running, at: time)
                #expect(found == (time == 110_000 ? target : nil), "\(node)")
            }
        }
    }
}
