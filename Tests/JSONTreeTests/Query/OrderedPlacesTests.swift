import TestSupport
import Testing

@testable import JSONTree

@Suite("Ordered places") struct OrderedPlacesTests {
    private func place(_ number: Int) -> IndexPlace {
        IndexPlace((0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) })
    }

    @Test("agree with a sorted array while they grow and shrink", arguments: 0..<4)
    func model(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var model: [Int] = Array(stride(from: 0, to: 1200, by: 4))
        var places = OrderedPlaces(sorted: model.map(place))
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
                let wasThere = places.remove(place(number))
                #expect(wasThere == isThere, "seed \(seed) step \(step)")
                if isThere { model.remove(at: index) }
            }
            if step % 10 != 0 { continue }
            let other = Int.random(in: 0..<1200, using: &random)
            #expect(places.rank(of: place(other)) == model.prefix { $0 < other }.count, "seed \(seed) step \(step)")
            #expect(places.predecessor(of: place(other)) == model.last { $0 < other }.map(place))
            #expect(places.contains(place(other)) == model.contains(other))
            #expect(places.count == model.count)
            #expect(places.first == model.first.map(place))
            #expect(places.last == model.last.map(place))
            if step % 100 == 0 { #expect(Array(places.sorted) == model.map(place), "seed \(seed) step \(step)") }
        }
        for number in model { places.remove(place(number)) }
        #expect(places == OrderedPlaces())
    }
}
