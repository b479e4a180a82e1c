import HearthJSONTree

/// A large value that has come to a place: everything at and below `path` is what its rows and entries say. Or children
/// have: then that is true of each of them.
package struct PreparedChange: Sendable {
    /// Encoded.
    package var path: [UInt8]
    package var rows: PreparedRows
    /// All entries of the collections at and below `path`; nil if there can be none.
    package var entries: PreparedEntries?

    package init(path: [UInt8], rows: PreparedRows, entries: PreparedEntries? = nil) {
        self.path = path
        self.rows = rows
        self.entries = entries
    }

    package var range: KeyRange { KeyRange(lower: path, upper: Path.subtreeEnd(of: path)) }

    /// Whether only children that the rows are about are replaced.
    package var isOfChildren: Bool { rows.members != nil }

    /// The child of the place in which a key lies, which must be below the place.
    package func child(of key: [UInt8]) -> KeyRange {
        let lower = Array(key[..<Path(encoded: key).segmentEnd(from: path.count)])
        return KeyRange(lower: lower, upper: Path.subtreeEnd(of: lower))
    }
}
