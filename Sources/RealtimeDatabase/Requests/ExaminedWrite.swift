package import HearthJSONTree
import HearthTreeText

/// What was found out about a large write on another thread, before its turn.
package struct ExaminedWrite: Sendable {
    /// Rows that its turn sets one by one, about. Those of the first large value are made beforehand.
    package let rowCount: Int
    /// The places of its increments, each once, in path order, or of one more than it may have. They are read before
    /// the turn.
    package let increments: [Path]
    /// The other places that are read before the turn, if there are not too many.
    let places: [Path]
    /// The time that its server timestamps have, in milliseconds since 1970; nil if it has no server values.
    package let time: Int64?
    /// The operation as it was sent.
    let original: Operation
    /// The values at the places of the increments, once they are known.
    var bases: [Path: CanonicalJSON] = [:]
}
