package import HearthJSONTree
package import HearthStorageErrors

/// Obsolete entries of indexes in a store, which stay until a server removes them: those of dropped indexes, and those
/// of children that were removed with a node above them, or were replaced.
package struct ObsoleteEntries {
    private let catalog: IndexCatalog
    private let rows: TreeRows
    private let path: Path

    /// - parameter path: of an expiry, the entries of children at, above and below it alone are looked at.
    package init(of store: any RowStore, concerning path: Path) throws(StorageError) {
        catalog = try store.indexCatalog().map(IndexCatalog.init) ?? IndexCatalog()
        rows = TreeRows(store: store)
        self.path = path
    }

    /// Costs a few rows for a child that is looked at.
    package func contains(_ key: [UInt8]) throws(StorageError) -> Bool {
        guard let number = IndexEntryKey.number(of: key) else { return false }
        defer { rows.trim(looks: 10) }
        if let expiry = catalog.expiries.first(where: { $0.number == number }) {
            guard key.starts(with: expiry.prefix), key.count > expiry.key(0, []).count else { return false }
            let child = expiry.child(ofKey: key)
            guard concerns(child) else { return false }
            return try IndexKeeper.time(of: child.encoded, expiry, in: rows) != expiry.time(ofKey: key)
        }
        return !catalog.indexes.contains { $0.number == number } && !catalog.queues.contains { $0.number == number }
            && !catalog.counters.contains { $0.number == number }
    }

    private func concerns(_ child: Path) -> Bool { path.contains(child) || child.contains(path) }
}
