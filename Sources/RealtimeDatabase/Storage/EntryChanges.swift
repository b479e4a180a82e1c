/// Changes of index entries, to be written to a store together with rows.
package struct EntryChanges: Sendable, Hashable {
    /// Removed before others are added.
    package var cleared: [KeyRange] = []
    package var removed: [[UInt8]] = []
    /// In order.
    package var added: [[UInt8]] = []

    package init() {}

    package var isEmpty: Bool { cleared.isEmpty && removed.isEmpty && added.isEmpty }
}
