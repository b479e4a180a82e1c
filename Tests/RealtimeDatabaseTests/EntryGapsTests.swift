import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("gaps between the entries of indexes")
struct EntryGapsTests {
    private static func range(_ lower: UInt8, _ upper: UInt8) -> KeyRange { KeyRange(lower: [lower], upper: [upper]) }

    @Test("are left out by scans that begin in them, in both directions")
    func visited() {
        var gaps = EntryGaps()
        gaps.add(Self.range(10, 20))
        gaps.add(Self.range(20, 30))
        gaps.add(Self.range(40, 50))
        #expect(gaps.gaps.count == 2)
        #expect(gaps.visited(Self.range(10, 100), .ascending) == Self.range(30, 100))
        #expect(gaps.visited(Self.range(5, 100), .ascending) == Self.range(5, 100))
        #expect(gaps.visited(Self.range(0, 50), .descending) == Self.range(0, 40))
        #expect(gaps.visited(Self.range(0, 51), .descending) == Self.range(0, 51))
    }

    @Test("end where an entry comes, and are forgotten where there can be any")
    func filled() {
        var gaps = EntryGaps()
        gaps.add(Self.range(10, 30))
        gaps.fill([15])
        #expect(gaps.visited(Self.range(10, 100), .ascending) == Self.range(15, 100))
        gaps.fill([10])
        #expect(gaps.gaps.isEmpty)
        gaps.add(Self.range(10, 30))
        gaps.forget(Self.range(29, 60))
        #expect(gaps.gaps.isEmpty)
    }

    /// Removals, additions and large values at random, and scans compared with a set of keys.
    @Test("change nothing that a scan finds", arguments: 0..<(4 * TestScale.factor))
    func model(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let entries = IndexEntries(store: EmptyRowStore())
        var model: Set<UInt8> = []
        for step in 0..<2000 {
            let key = UInt8.random(in: 0...250, using: &random)
            let isPresent = Int.random(in: 0..<4, using: &random) == 0
            entries.set([key], isPresent: isPresent, generation: 1)
            if isPresent { model.insert(key) } else { model.remove(key) }
            let (lower, upper) = (UInt8.random(in: 0...20, using: &random), UInt8.random(in: 230...251, using: &random))
            let direction: ScanDirection = Bool.random(using: &random) ? .ascending : .descending
            let countMax = Int.random(in: 1...3, using: &random)
            var found: [UInt8] = []
            try entries.scan(from: [lower], below: [upper], direction) {
                found += $0
                return found.count < countMax
            }
            let sorted = model.filter { lower <= $0 && $0 < upper }.sorted()
            let expected = direction == .ascending ? sorted : sorted.reversed()
            #expect(found == Array(expected.prefix(countMax)), "seed \(seed) step \(step)")
        }
    }
}
