import HearthTestSupport
import Testing

@testable import HearthJSONTree

@Suite("Sorted chunks") struct SortedChunksTests {
    private func place(_ number: Int) -> IndexPlace {
        IndexPlace((0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) })
    }

    private func walk(_ places: SortedChunks<IndexPlace>, _ bounds: [Int], _ direction: ScanDirection) -> [IndexPlace] {
        var walk = places.walk(from: place(bounds[0]).bytes, below: place(bounds[1]).bytes, direction)
        var found: [IndexPlace] = []
        while let next = walk.next() { found.append(next) }
        return found
    }

    @Test("are removed in steps of about so many looks", arguments: 0..<4)
    func steps(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let numbers = (0..<5000).filter { _ in Bool.random(using: &random) }
        let looks = Int.random(in: 1...600, using: &random)
        var places = SortedChunks(sorted: numbers.map(place))
        var next: [UInt8]? = []
        while let start = next {
            let count = places.count
            next = places.removeSome(from: start, looks: looks) { $0.bytes[3].isMultiple(of: 3) }
            // Whole chunks are looked at.
            #expect(count - places.count <= looks + 256, "seed \(seed)")
        }
        let left = numbers.filter { !UInt8(truncatingIfNeeded: $0).isMultiple(of: 3) }
        #expect(Array(places.elements) == left.map(place), "seed \(seed)")
        #expect(places.count == left.count, "seed \(seed)")
    }

    @Test("agree with a sorted array while they grow and shrink", arguments: 0..<4)
    func model(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var model: [Int] = Array(stride(from: 0, to: 1200, by: 4))
        var places = SortedChunks(sorted: model.map(place))
        for step in 0..<3000 {
            let number = Int.random(in: 0..<1200, using: &random)
            let index = model.firstIndex { $0 >= number } ?? model.count
            let isThere = index < model.count && model[index] == number
            // Grows for the first half, then shrinks until nothing is left of some parts.
            if Int.random(in: 0..<4, using: &random) == 0 || step < 1500 {
                let isNew = places.insert(place(number))
                #expect(isNew != isThere, "seed \(seed) step \(step)")
                if !isThere { model.insert(number, at: index) }
            } else {
                let wasThere = places.remove(place(number).bytes)
                #expect(wasThere == isThere, "seed \(seed) step \(step)")
                if isThere { model.remove(at: index) }
            }
            if step % 10 != 0 { continue }
            let other = Int.random(in: 0..<1200, using: &random)
            #expect(places.predecessor(of: place(other).bytes) == model.last { $0 < other }.map(place))
            #expect(places.contains(place(other).bytes) == model.contains(other))
            #expect(places.count == model.count)
            #expect(places.first == model.first.map(place))
            #expect(places.last == model.last.map(place))
            let bounds = [Int.random(in: 0..<1200, using: &random), other].sorted()
            let range = model.filter { $0 >= bounds[0] && $0 < bounds[1] }.map(place)
            #expect(walk(places, bounds, .ascending) == range, "seed \(seed) step \(step)")
            #expect(walk(places, bounds, .descending) == range.reversed(), "seed \(seed) step \(step)")
            if step % 500 == 0 {
                places.removeAll(from: place(bounds[0]).bytes, below: place(bounds[1]).bytes)
                model.removeAll { $0 >= bounds[0] && $0 < bounds[1] }
            }
            if step % 100 == 0 { #expect(Array(places.elements) == model.map(place), "seed \(seed) step \(step)") }
        }
        for number in model { places.remove(place(number).bytes) }
        #expect(places.isEmpty)
        #expect(places.first == nil)
        #expect(Array(places.elements).isEmpty)
    }
}
