import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("who listens where")
struct ListenerTrieTests {
    @Test("each group gets a change once, cut to its path", arguments: 0..<(10 * TestScale.factor))
    func deliveries(seed: UInt64) {
        var generator = StepGenerator(seed: seed)
        var random = SeededRandom(seed: seed)
        var trie = ListenerTrie(database: 3)
        var members: [Path: [Int]] = [:]
        var groups: [Path: GroupID] = [:]
        for step in 0..<150 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                let (path, loop) = (generator.path(), Int.random(in: 0..<3, using: &random))
                let group = trie.join(path, loop: loop)
                if let known = groups[path] { #expect(known == group, "seed \(seed) step \(step)") }
                #expect(!groups.contains { $0.value == group && $0.key != path }, "seed \(seed) step \(step)")
                groups[path] = group
                members[path, default: []].append(loop)
            case 1:
                guard let path = members.keys.sorted().randomElement(using: &random),
                    let loop = members[path]?.popLast()
                else { continue }
                #expect(trie.leave(path, loop: loop) == groups[path], "seed \(seed) step \(step)")
                if members[path] == [] { (members[path], groups[path]) = (nil, nil) }
            default:
                let change = generator.change()
                var expected: [GroupAddress: Change] = [:]
                for (path, loops) in members {
                    guard let group = groups[path], let view = change.seen(from: path) else { continue }
                    let bits = loops.reduce(0 as UInt64) { $0 | 1 << UInt64($1) }
                    expected[GroupAddress(group: group, loops: bits)] = view
                }
                var seen: [GroupAddress: Change] = [:]
                for delivery in trie.deliveries(of: change) {
                    for address in delivery.plain {
                        #expect(seen.updateValue(delivery.change, forKey: address) == nil, "seed \(seed) step \(step)")
                    }
                }
                #expect(seen == expected, "seed \(seed) step \(step): \(change)")
            }
        }
    }

    @Test("groups at and above a change share one entry")
    func oneEntryPerForm() {
        var trie = ListenerTrie(database: 0)
        let groups = ["", "a", "a/b", "a/b/c"].map { trie.join($0, loop: 1) }
        let change = Change.set(Assignment(target: WriteTarget(path: "a/b"), value: #"{"c":1}"#))
        let deliveries = trie.deliveries(of: change)
        #expect(deliveries.map(\.change) == [change, .set(Assignment(target: WriteTarget(path: "a/b/c"), value: "1"))])
        #expect(deliveries.map { $0.plain.map(\.group) } == [Array(groups[..<3]), [groups[3]]])
        #expect(deliveries.allSatisfy { $0.plain.allSatisfy { $0.loops == 2 } })
    }

    private static func streamPushes(
        of change: Change, at position: Position, _ trie: ListenerTrie
    ) -> [(push: QueryPush, to: GroupAddress)] {
        var fanOut = trie.fanOut(of: change)
        var pushes: [(push: QueryPush, to: GroupAddress)] = []
        while let step = fanOut.next() { pushes += step.streamPushes(at: position) }
        return pushes
    }

    @Test("event streams are told the same, each of its own path", arguments: 0..<(10 * TestScale.factor))
    func streams(seed: UInt64) {
        var generator = StepGenerator(seed: seed)
        var trie = ListenerTrie(database: 3)
        let position = Position(epoch: 1, sequence: 2, time: 3)
        var groups: [Path: GroupID] = [:]
        /// Of those that are told of positions, some beside others at the same place.
        var numbered: [Path: GroupID] = [:]
        for index in 0..<8 {
            let path = generator.path()
            if index % 3 != 0, numbered[path] == nil { numbered[path] = trie.join(path, .numberedStreams, loop: 1) }
            guard index % 3 != 1, groups[path] == nil else { continue }
            groups[path] = trie.join(path, .streams, loop: 1)
            // Of no concern to them.
            #expect(trie.join(path, loop: 0) != groups[path], "seed \(seed)")
        }
        for step in 0..<60 {
            let change = generator.change()
            func expected(_ groups: [Path: GroupID]) -> [GroupID: Change] {
                var expected: [GroupID: Change] = [:]
                for (path, group) in groups { expected[group] = change.seen(from: path) }
                return expected
            }
            var seen: [GroupID: Change] = [:]
            var seenNumbered: [GroupID: Change] = [:]
            for (push, address) in Self.streamPushes(of: change, at: position, trie) {
                guard case .change(let change) = push.content else { continue }
                #expect(push.form == .eventStream && address.loops == 2, "seed \(seed)")
                if push.position == nil {
                    #expect(address.group == groups[push.path], "seed \(seed) step \(step)")
                    #expect(seen.updateValue(change, forKey: address.group) == nil, "seed \(seed) step \(step)")
                } else {
                    #expect(push.position == position && address.group == numbered[push.path], "seed \(seed)")
                    #expect(seenNumbered.updateValue(change, forKey: address.group) == nil, "seed \(seed) step \(step)")
                }
            }
            #expect(seen == expected(groups), "seed \(seed) step \(step): \(change)")
            #expect(seenNumbered == expected(numbered), "seed \(seed) step \(step): \(change)")
        }
        for path in groups.keys { #expect(trie.leave(path, .streams, loop: 1) == groups[path]) }
        for path in numbered.keys { #expect(trie.leave(path, .numberedStreams, loop: 1) == numbered[path]) }
        let change = Change.set(Assignment(target: WriteTarget(path: .root), value: "1"))
        #expect(Self.streamPushes(of: change, at: position, trie).isEmpty)
        #expect(!trie.isEmpty)
    }

    @Test("a place without listeners is forgotten, and its group number never comes back")
    func pruning() {
        var trie = ListenerTrie(database: 0)
        let first = trie.join("a/b/c", loop: 0)
        #expect(trie.leave("a/b/c", loop: 0) == first)
        #expect(trie.leave("a/b/c", loop: 0) == nil)
        let change = Change.set(Assignment(target: WriteTarget(path: "a"), value: "1"))
        #expect(trie.deliveries(of: change).isEmpty)
        #expect(trie.join("a/b/c", loop: 0) != first)
    }
}
