import HearthJSONTree
import HearthTreeQueries
import HearthSecurityRules
import HearthStorageErrors

/// The counting of data that existed before a counter. Meanwhile writes update the totals of finished collections, and
/// the partial total of the one that is being counted.
struct CounterBuild {
    let definition: CounterDefinition
    var walk: CollectionWalk
    /// The collection of which some children are done, and their total.
    private var current: Path?
    private var partial = DecimalSum()

    enum Progress {
        case done
        /// Children before this place are counted.
        case underWay(before: [UInt8])
        case ahead
    }

    init(_ definition: CounterDefinition) {
        self.definition = definition
        walk = CollectionWalk(definition.collections)
    }

    /// Counts up to so many children. Answers whether all are done.
    ///
    /// - parameter finish: told of each collection that is done, and its total.
    mutating func step(
        _ rows: TreeRows, childrenLeft: inout Int, finish: (_ collection: Path, _ total: DecimalSum) -> Void
    ) throws(StorageError) -> Bool {
        let definition = definition
        var (current, partial) = (current, partial)
        defer { (self.current, self.partial) = (current, partial) }
        return try walk.step(rows, childrenLeft: &childrenLeft) { (collection, child) throws(StorageError) in
            if collection != current { (current, partial) = (collection, DecimalSum()) }
            if let amount = try Self.amount(definition, of: child, in: collection, rows) { partial.add(amount) }
        } finish: { collection in
            finish(collection, collection == current ? partial : DecimalSum())
            (current, partial) = (nil, DecimalSum())
        }
    }

    private static func amount(
        _ definition: CounterDefinition, of child: TreeRows.ScannedChild, in collection: Path, _ rows: TreeRows
    ) throws(StorageError) -> JSONNumber? {
        if let value = child.value { return definition.amount(of: value, in: value.range) }
        do throws(RuleTreeError) {
            return try definition.amount(ofChildAt: collection.encoded + child.segment, in: rows)
        } catch {
            throw error.storageError
        }
    }

    func progress(of collection: Path) -> Progress {
        if !walk.done.precedesBytewise(collection.subtreeEnd) { return .done }
        return collection == current ? .underWay(before: walk.done) : .ahead
    }

    /// A child that was counted has changed.
    mutating func add(_ change: DecimalSum) { partial.add(change) }

    /// A write at a place, including everything below it.
    mutating func replace(_ path: Path) {
        guard let current, path.contains(current) else { return }
        walk.restart(current)
        (self.current, partial) = (nil, DecimalSum())
    }
}
