import HearthTestSupport
import Testing

@testable import HearthReplicatedLog
@Suite("The tree of followers") struct FollowerTreeTests {
    private let tree = FollowerTree()

    @Test("the first nodes follow the store, and each has sixteen followers") func shape() {
        #expect((0..<3).allSatisfy { tree.source(of: $0) { _ in true } == nil })
        var followers: [Int: Int] = [:]
        for index in 3..<1000 { followers[tree.source(of: index) { _ in true } ?? -1, default: 0] += 1 }
        #expect((0..<62).allSatisfy { followers[$0] == 16 })
        #expect(followers[-1] == nil)
    }

    @Test("there are no circles, whoever runs", arguments: 0..<50 as Range<UInt64>) func circles(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for index in 0..<300 {
            let source = tree.source(of: index) { _ in Bool.random(using: &random) }
            #expect(source.map { $0 < index } ?? true, "seed \(seed)")
        }
    }

    @Test("a node whose source is down follows the source of that one, or in the end the store") func sourceDown() {
        #expect(tree.source(of: 60) { _ in true } == 3)
        #expect(tree.source(of: 60) { $0 != 3 } == 0)
        #expect(tree.source(of: 60) { $0 != 3 && $0 != 0 } == nil)
    }

    @Test("a node without followers that is removed changes the source of few others") func removal() {
        for removed in 7..<100 {
            let changed = (3..<100).filter { old in
                guard old != removed else { return false }
                func original(_ index: Int) -> Int { index >= removed ? index + 1 : index }
                let now = tree.source(of: old > removed ? old - 1 : old) { _ in true }
                let before = tree.source(of: old) { _ in true }
                return now.map(original) != before && before != removed
            }
            #expect(changed.count <= 7, "\(removed): \(changed)")
        }
    }
}
