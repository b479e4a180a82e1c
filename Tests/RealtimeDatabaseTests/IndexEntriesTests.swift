import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("entries of indexes") struct IndexEntriesTests {
    private func found(_ entries: IndexEntries) throws -> [[UInt8]] {
        var found: [[UInt8]] = []
        try entries.scan(from: [], below: [0xFF], .ascending) {
            found.append($0)
            return true
        }
        return found
    }

    /// While changes are frozen, written and freed at random moments, a scan finds a set's keys.
    @Test("are the same before, while and after their memory is freed", arguments: 0..<(4 * TestScale.factor))
    func freeing(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let store = MemoryRowStore()
        let entries = IndexEntries(store: store)
        var model: Set<[UInt8]> = []
        var generation: UInt64 = 1
        var frozen: (generation: UInt64, changes: RowChanges)?
        for step in 0..<600 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0 where frozen == nil:
                frozen = (generation, RowChanges())
                frozen?.changes.entries = entries.freeze(generation)
                generation += 1
            case 1:
                guard let written = frozen else { break }
                store.apply(written.changes)
                entries.applied(written.generation)
                frozen = nil
            case 2...4: entries.trim(looks: Int.random(in: 1...20, using: &random))
            default:
                let key = [UInt8.random(in: 1...100, using: &random), UInt8.random(in: 0...9, using: &random)]
                let isPresent = Bool.random(using: &random)
                entries.set(key, isPresent: isPresent, generation: generation)
                if isPresent { model.insert(key) } else { model.remove(key) }
            }
            let expected = model.sorted { $0.lexicographicallyPrecedes($1) }
            #expect(try found(entries) == expected, "seed \(seed) step \(step)")
        }
    }

    @Test("leave memory some at a time once the store has them")
    func steps() throws {
        let store = MemoryRowStore()
        let entries = IndexEntries(store: store)
        for number in 0..<10_000 {
            entries.set([UInt8(number >> 8), UInt8(number & 255)], isPresent: true, generation: 1)
        }
        var changes = RowChanges()
        changes.entries = entries.freeze(1)
        store.apply(changes)
        #expect(!entries.isTrimDue)
        entries.set([0, 0], isPresent: false, generation: 2)
        entries.applied(1)
        #expect(entries.resident == 10_000)
        while entries.isTrimDue {
            let before = entries.resident
            entries.trim(looks: 1000)
            // Whole chunks are looked at.
            #expect(before - entries.resident <= 1256)
        }
        #expect(entries.resident == 1)
        #expect(try found(entries).count == 9_999)
    }
}
