/// The history that is kept of the places of a pattern (docs/using/additions.md 9).
package struct HistoryDefinition: Hashable, Sendable {
    package var pattern: IndexPattern
    /// How long, in milliseconds; nil for ever.
    package var keep: Int64?
    /// A rules file whose `.read` says who may read the past, besides administrators. Nil for administrators only.
    package var readers: [UInt8]?

    package init(pattern: IndexPattern, keep: Int64?, readers: [UInt8]? = nil) {
        self.pattern = pattern
        self.keep = keep
        self.readers = readers
    }

    /// The time before which changes are not kept one by one: only the last state before it is, as the beginning of the
    /// rest. Nil if all are.
    package func edge(now: Int64) -> Int64? { keep.map { now - $0 } }
}
