/// What is wanted of a large value, as JSON text.
struct SnapshotText: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        /// The value in its forms (``JSONOutput``).
        case export, plain
        case shallow(ShallowRange)
        /// The value's own priority.
        case priority
        /// No text.
        case nothing
    }

    var content: Content
    var isPretty = false
    /// What stands before and behind the text.
    var head: [UInt8] = []
    var tail: [UInt8] = []
    /// Whether the hash of the value is wanted, too (``NodeHash``). Costs one more pass over the rows.
    var hash = false
}
