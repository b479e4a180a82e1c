import HearthJSONTree

/// The information in the key of an index entry (see `IndexEntries`).
package enum IndexEntryKey {
    /// The number of the index. Nil if the key is damaged. O(depth).
    package static func number(of key: [UInt8]) -> UInt32? {
        var marker = 0
        while marker < key.count, key[marker] != IndexEntries.marker {
            marker = Path(encoded: key).segmentEnd(from: marker)
        }
        guard key.count >= marker + 5 else { return nil }
        return key[marker + 1..<marker + 5].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
