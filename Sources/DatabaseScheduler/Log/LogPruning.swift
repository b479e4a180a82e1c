/// The part of a log that may be removed.
package struct LogPruning: Hashable, Sendable {
    /// Records that were made before this time, in milliseconds since 1970.
    package var before: Int64
    /// The present time, in milliseconds since 1970. Records that are newer than that were made with a wrong clock.
    package var now: Int64
    /// Older records go as well if the log has more bytes than this.
    package var keepingBytes: Int64
    /// Later operations stay: the tree file does not include them yet.
    package var appliedSequence: UInt64
}
