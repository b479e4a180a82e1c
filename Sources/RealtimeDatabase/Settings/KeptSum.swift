import HearthJSONTree
import HearthTreeQueries
import HearthStorageErrors

/// The exact sum of a collection.
///
/// A total shows it as the nearest double. If that is another number, the sum stands in an entry (``IndexEntries``) of
/// the counter's number at the collection, in place of a child, and the next write adds to it.
struct KeptSum {
    /// Of the counter.
    let number: UInt32
    let collection: Path
    let sum: DecimalSum
    /// The nearest double; nil if none is as large.
    let shown: JSONNumber?

    init(_ number: UInt32, _ collection: Path, _ sum: DecimalSum) {
        (self.number, self.collection, self.sum, shown) = (number, collection, sum, sum.number)
    }

    /// The entry that there must be; nil if the total says it all.
    var entry: [UInt8]? {
        if let shown, DecimalSum(shown) == sum { return nil }
        return IndexEntryKey.prefix(of: number, at: collection) + sum.stored
    }

    /// What stands in the tree for the total: nothing for zero, so that a place does not stay for its total alone, and
    /// the largest double for what is larger than that.
    var value: CanonicalJSON {
        if sum.isZero { return .null }
        let largest = Double.greatestFiniteMagnitude
        return CanonicalJSON(shown ?? JSONNumber(sum.isNegative ? -largest : largest))
    }
}

extension IndexEntries {
    /// The entries with the exact sum of a collection: one, or none.
    func sums(of number: UInt32, at collection: Path) throws(StorageError) -> [[UInt8]] {
        let prefix = IndexEntryKey.prefix(of: number, at: collection)
        var found: [[UInt8]] = []
        try scan(from: prefix, below: prefix + [0xFF], .ascending) { key in
            found.append(key)
            return true
        }
        return found
    }

    /// The exact sum of a collection, if it has an entry.
    func sum(of number: UInt32, at collection: Path) throws(StorageError) -> DecimalSum? {
        let start = IndexEntryKey.prefix(of: number, at: collection).count
        return try sums(of: number, at: collection).first.flatMap { DecimalSum(stored: Array($0[start...])) }
    }
}
