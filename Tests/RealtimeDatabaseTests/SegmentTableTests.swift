import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("a segment table")
struct SegmentTableTests {
    private final class Entry: SegmentKeyed {
        let segment: [UInt8]
        init(_ segment: [UInt8]) { self.segment = segment }
    }

    private final class Reference {
        weak var entry: Entry?
        init(_ entry: Entry) { self.entry = entry }
    }

    @Test("owns what is in it, and nothing else", arguments: [3, 10, 200])
    func ownership(count: Int) {
        var references: [Reference] = []
        func alive() -> Int { references.count { $0.entry != nil } }
        func useTable(taking taken: Int, removing removed: Int) {
            var table = SegmentTable<Entry>()
            for number in 0..<count {
                let entry = Entry(Array("k\(number)".utf8) + [0])
                table.insert(entry)
                references.append(Reference(entry))
            }
            _ = table.ordered()
            let all = alive()
            for number in 0..<removed { table.remove(Array("k\(number)".utf8) + [0]) }
            let left = alive()
            for _ in 0..<taken { _ = table.takeLast() }
            #expect(all == count)
            #expect(left == count - removed)
            #expect(alive() == left - taken)
        }
        for (taken, removed) in [(0, 0), (1, 1), (0, count), (count, 0)] {
            references = []
            useTable(taking: taken, removing: removed)
            #expect(alive() == 0, "\(taken) taken, \(removed) removed")
        }
    }

    @Test("agrees with a dictionary after random insertions and removals", arguments: 0..<(8 * TestScale.factor))
    func agreesWithDictionary(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var table = SegmentTable<Entry>()
        var model: [[UInt8]: Entry] = [:]
        // Segments of which some are prefixes of others; from a few to many.
        let variety = [4, 30, 500].randomElement(using: &random)!
        for step in 0..<1500 {
            let number = Int.random(in: 0..<variety, using: &random)
            let segment = Array("k\(number)".utf8) + [0]
            switch Int.random(in: 0..<5, using: &random) {
            case 0...1 where model[segment] == nil:
                let entry = Entry(segment)
                table.insert(entry)
                model[segment] = entry
            case 2...3:
                table.remove(segment)
                model[segment] = nil
            case 4 where step.isMultiple(of: 400):
                while let entry = table.takeLast() { #expect(model.removeValue(forKey: entry.segment) === entry) }
                #expect(model.isEmpty, "seed \(seed) step \(step)")
            default: break
            }
            let found = segment.withUnsafeBytes { table[$0] }
            #expect(found === model[segment], "seed \(seed) step \(step)")
            #expect(table.count == model.count && table.isEmpty == model.isEmpty, "seed \(seed) step \(step)")
        }
        for (segment, entry) in model { #expect(segment.withUnsafeBytes { table[$0] } === entry, "seed \(seed)") }
        let sorted = model.keys.sorted { $0.lexicographicallyPrecedes($1) }
        #expect(table.sorted().map(\.segment) == sorted, "seed \(seed)")
        #expect(table.contains { $0.segment == sorted.last } == !model.isEmpty)
    }
}
