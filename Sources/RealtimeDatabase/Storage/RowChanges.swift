/// The changed rows of one stretch of the commit log, to be written to a store in one transaction.
package struct RowChanges: Sendable {
    /// A large value, whose rows come first: all stored rows at its place and below are obsolete.
    package var large: PreparedChange?
    /// Ranges whose stored rows are all obsolete. They are removed before `rows` are written.
    package var cleared: [KeyRange]
    /// Keys whose row goes away.
    package var removed: [[UInt8]]
    /// No two have the same key. What is obsolete below them (``Row/clearsBelow``) is removed before they are written.
    package var rows: [Row]
    /// What connections want written when they end; empty for those that want nothing any more.
    package var owed: [UInt64: OwedWrites]
    package var entries = EntryChanges()
    /// The new state of the indexes.
    package var indexCatalog: [UInt8]?
    /// What goes into the outbox; nil for what leaves it.
    package var outbox: [OutboxKey: [UInt8]?] = [:]

    package init(
        cleared: [KeyRange] = [], removed: [[UInt8]] = [], rows: [Row] = [], owed: [UInt64: OwedWrites] = [:]
    ) {
        self.cleared = cleared
        self.removed = removed
        self.rows = rows
        self.owed = owed
    }

    /// Whether all rows are obsolete that the store has at a key and below. Looks at all changes.
    package func clear(_ key: [UInt8]) -> Bool {
        cleared.contains { $0.lower == key } || rows.contains { $0.clearsBelow && $0.key == key }
    }

    package var isEmpty: Bool {
        large == nil && cleared.isEmpty && removed.isEmpty && rows.isEmpty && owed.isEmpty && entries.isEmpty
            && indexCatalog == nil && outbox.isEmpty
    }
}
