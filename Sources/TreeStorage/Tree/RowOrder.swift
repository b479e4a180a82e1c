import HearthJSONTree
import HearthRealtimeDatabase

/// Puts rows in key order. Keys of one tree have a common prefix, which is skipped, and the eight bytes after it nearly
/// always decide: most comparisons are of two integers.
enum RowOrder {
    /// Indices of `rows` in the order of their keys. O(n log n).
    static func indices(of rows: [Row]) -> [Int] {
        guard let first = rows.first else { return [] }
        var shared = first.key.count
        for index in rows.indices {
            shared = first.key.withUnsafeBytes { first in
                rows[index].key.withUnsafeBytes { firstDifference(first.part(0..<shared), $0) }
            }
        }
        let places = rows.indices.map { (word: word(of: rows[$0].key, from: shared), index: $0) }
        return places.sorted { a, b in
            if a.word != b.word { return a.word < b.word }
            return rows[a.index].key.precedesBytewise(rows[b.index].key)
        }.map(\.index)
    }

    /// Eight bytes, the first one highest; zeros after the end, which no key has less of.
    private static func word(of key: [UInt8], from start: Int) -> UInt64 {
        var word: UInt64 = 0
        for index in start..<start + 8 { word = word << 8 | UInt64(index < key.count ? key[index] : 0) }
        return word
    }
}
