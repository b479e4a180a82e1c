/// The requested form of a large value, as JSON text.
package struct SnapshotText: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// The value in its forms (``JSONOutput``).
        case export, plain
        case shallow(ShallowRange)
        /// The value's own priority.
        case priority
        /// No text.
        case nothing
    }

    package var content: Content
    package var isPretty = false
    /// The bytes before and after the text.
    package var head: [UInt8] = []
    package var tail: [UInt8] = []
    /// The hash of the value is wanted, too (``NodeHash``). Costs one more pass over the rows.
    package var wantsHash = false

    package init(
        content: Content, isPretty: Bool = false, head: [UInt8] = [], tail: [UInt8] = [], wantsHash: Bool = false
    ) {
        self.content = content
        self.isPretty = isPretty
        self.head = head
        self.tail = tail
        self.wantsHash = wantsHash
    }
}
