import HearthJSONTree

/// The information in the key of an index entry (see `IndexEntries`).
package enum IndexEntryKey {
    /// Less than the first byte of every segment, so that it ends a path.
    static let marker: UInt8 = 0x01

    /// The first bytes of all keys of an index in a collection.
    static func prefix(of number: UInt32, at collection: Path) -> [UInt8] {
        var prefix = collection.encoded
        prefix.append(marker)
        for shift in [24, 16, 8, 0] as [UInt32] { prefix.append(UInt8(truncatingIfNeeded: number >> shift)) }
        return prefix
    }

    /// The number of the index. Nil if the key is damaged. O(depth).
    package static func number(of key: [UInt8]) -> UInt32? {
        var marker = 0
        while marker < key.count, key[marker] != Self.marker {
            marker = Path(encoded: key).segmentEnd(from: marker)
        }
        guard key.count >= marker + 5 else { return nil }
        return key[marker + 1..<marker + 5].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
