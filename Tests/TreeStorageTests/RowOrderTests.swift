import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing

@testable import HearthTreeStorage

@Suite("The order of rows")
struct RowOrderTests {
    @Test("is that of their keys, however much they share", arguments: 0..<100 as Range<UInt64>)
    func agreesWithPlainOrder(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let prefix = (0..<Int.random(in: 0..<12, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        var keys: Set<[UInt8]> = []
        for _ in 0..<Int.random(in: 0..<60, using: &random) {
            let count = Int.random(in: 0..<14, using: &random)
            // Few different bytes, zeros among them, so that words are often equal and keys often prefixes of others.
            keys.insert(prefix + (0..<count).map { _ in UInt8.random(in: 0...2, using: &random) })
        }
        let rows = keys.shuffled(using: &random).map { Row(key: $0, value: .subtree(.null)) }
        let ordered = RowOrder.indices(of: rows).map { rows[$0].key }
        #expect(ordered == keys.sorted { $0.lexicographicallyPrecedes($1) }, "seed \(seed)")
    }
}
