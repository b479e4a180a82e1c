package import HearthJSONTree

/// A row as the tree file holds it: the encoded path and the value stored there.
package struct Row: Hashable, Sendable {
    /// `Path.encoded` of the place the row describes.
    package var key: [UInt8]
    package var value: RowValue
    /// Of a row that is written: those that the store has below its key are obsolete.
    package var clearsBelow: Bool

    package init(key: [UInt8], value: RowValue, clearsBelow: Bool = false) {
        self.key = key
        self.value = value
        self.clearsBelow = clearsBelow
    }
}

/// What a row says about its place.
///
/// No row lies inside another: below a `.subtree` row there are no rows. A node that is spread over the rows of its
/// children needs no row of its own, unless it has a priority.
package enum RowValue: Hashable, Sendable {
    /// The whole subtree, in canonical form; never null.
    case subtree(CanonicalJSON)
    /// The priority of a node whose children have rows of their own.
    case header(priority: CanonicalJSON)

    /// The stored form: the canonical text, after a `!` for a header (no JSON text begins with that byte).
    package var encoded: [UInt8] {
        switch self {
        case .subtree(let json): json.bytes
        case .header(let priority): [UInt8(ascii: "!")] + priority.bytes
        }
    }

    package init(encoded bytes: UnsafeRawBufferPointer) {
        if bytes.first == UInt8(ascii: "!") {
            self = .header(priority: CanonicalJSON(trusted: Array(bytes.dropFirst())))
        } else {
            self = .subtree(CanonicalJSON(trusted: Array(bytes)))
        }
    }
}
