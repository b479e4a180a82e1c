import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// Finds out whether a write would give two children of a collection a value that must be unique there.
///
/// The state after the whole write counts, so two children may swap their values in one update. Children whose value
/// the write leaves as it is are not looked at: data that was there before the setting does not keep other writes out.
/// A check costs two look-ups and a short scan per changed child and setting, however many children there are.
struct UniqueCheck {
    private struct Change {
        var collection: Path
        var index: IndexCatalog.Index
        var child: [UInt8]
        /// The values that can be compared (``UniqueValue``).
        var before: [UInt8]?
        var after: [UInt8]?
    }

    private let rows: TreeRows
    private let entries: IndexEntries
    private let written: WrittenTree
    private var changes: [Change] = []
    /// The children that the write touches, after the number of the index.
    private var touched: Set<[UInt8]> = []

    init(_ rows: TreeRows, _ entries: IndexEntries, _ assignments: [Assignment]) {
        self.rows = rows
        self.entries = entries
        written = WrittenTree(rows, assignments)
    }

    /// Takes in a child of a collection that the write changes.
    mutating func add(_ child: Path, of collection: Path, _ index: IndexCatalog.Index) throws(RuleTreeError) {
        guard touched.insert(Self.name(child.encoded, index)).inserted else { return }
        let path = index.definition.index.comparedPath(ofChildAt: child.encoded)
        changes.append(
            Change(
                collection: collection, index: index, child: child.encoded,
                before: try UniqueValue.read(path, in: rows),
                after: try UniqueValue.read(path, in: written)))
    }

    /// The first conflict among those that were taken in, and with the others.
    func conflict() throws(StorageError) -> UniqueConflict? {
        var groups: [[UInt8]: Bool] = [:]
        for change in changes {
            guard let value = change.after else { continue }
            let prefix = IndexEntryKey.prefix(of: change.index.number, at: change.collection) + value
            let isNew = change.before != value
            let isKnown = groups[prefix] ?? false
            if groups[prefix] != nil, isNew || isKnown { return conflict(of: change) }
            groups[prefix] = isNew || isKnown
            if isNew, try hasOther(prefix, change) { return conflict(of: change) }
        }
        return nil
    }

    private func conflict(of change: Change) -> UniqueConflict {
        UniqueConflict(collection: change.collection, index: change.index.definition.index)
    }

    /// Whether a child that the write does not touch has the value.
    private func hasOther(_ prefix: [UInt8], _ change: Change) throws(StorageError) -> Bool {
        var hasOther = false
        try entries.scan(from: prefix, below: prefix + [0xFF], .ascending) { key in
            hasOther = !touched.contains(Self.name(change.collection.encoded + key[prefix.count...], change.index))
            return !hasOther
        }
        return hasOther
    }

    private static func name(_ child: [UInt8], _ index: IndexCatalog.Index) -> [UInt8] {
        IndexEntryKey.prefix(of: index.number, at: .root) + child
    }

    // MARK: Whole collections

    /// The first conflict in the collections of a value that is written at or above them.
    static func conflict(
        in json: CanonicalJSON, _ range: Range<Int>, at path: Path, _ node: IndexTrie.Node
    ) -> UniqueConflict? {
        if json.isNull { return nil }
        for index in node.indexes where index.isUnique {
            var values: Set<[UInt8]> = []
            for child in json.children(in: range) {
                var value: [UInt8] = []
                index.definition.index.appendValue(of: json, in: child.value, to: &value)
                guard UniqueValue.isCompared(value), !values.insert(value).inserted else { continue }
                return UniqueConflict(collection: path, index: index.definition.index)
            }
        }
        if node.isLeaf { return nil }
        for child in json.children(in: range) {
            var segment: [UInt8] = []
            child.appendSegment(to: &segment)
            for next in node.children(segment) {
                let path = Path(encoded: path.encoded + segment)
                if let found = conflict(in: json, child.value, at: path, next) { return found }
            }
        }
        return nil
    }
}
