package import HearthJSONTree
import HearthTreeQueries
package import HearthStorageErrors

/// The rows of a store without those of children that have expired, for readers of a snapshot.
package struct UnexpiredRows {
    private let expired: ExpiredChildren
    private let rows: TreeRows
    /// What was found out about the last child with several rows, which come one after the other.
    private var last: (child: Path, time: ExpiryTime, hasCome: Bool)?

    package init(_ expired: ExpiredChildren, of store: any RowStore) {
        self.expired = expired
        rows = TreeRows(store: store)
    }

    /// Rows of nodes of which nothing is seen so far.
    private var headers: [Row] = []

    /// The rows that readers see now that this one is there, in their order: a part of it, with the rows of the nodes
    /// above it; or none. Costs a look-up for the first row of a child that has several.
    package mutating func visible(_ row: Row) throws(StorageError) -> [Row] {
        let path = Path(encoded: row.key)
        let hidden = try expired.places(atOrAbove: path) { (child, time) throws(StorageError) in
            if child == path, case .subtree(let value) = row.value {
                return time.time(of: value, in: value.range).map { $0 <= expired.time } ?? false
            }
            return try hasCome(time, of: child)
        }
        if !hidden.isEmpty { return [] }
        guard case .subtree(let value) = row.value else {
            headers.append(row)
            return []
        }
        let seen = expired.removed(from: value, at: path)
        if seen.isNull { return [] }
        defer { headers = [] }
        return headers.filter { row.key.starts(with: $0.key) } + [Row(key: row.key, value: .subtree(seen))]
    }

    /// Whether readers see a child of a place. Costs a look-up if the children of the place expire.
    package mutating func isVisible(_ child: Path) throws(StorageError) -> Bool {
        try expired.places(atOrAbove: child) { (place, time) throws(StorageError) in
            try hasCome(time, of: place)
        }.isEmpty
    }

    private mutating func hasCome(_ time: ExpiryTime, of child: Path) throws(StorageError) -> Bool {
        if let last, last.child == child, last.time == time { return last.hasCome }
        let hasCome = try rows.hasCome(time, of: child, by: expired.time)
        last = (child, time, hasCome)
        return hasCome
    }
}
