/// Limits of large reads, which are streamed from a snapshot of the data. As long as a snapshot is open, all writes
/// stay in the write-ahead file of the rows, which grows.
package struct SnapshotLimits: Sendable {
    /// Snapshots that are open at a time; further large reads are refused.
    package var openMax = 256
    /// Large reads under way at a time, each with a thread; others wait with their snapshot open.
    package var threadsMax = 32
    /// The rate at which a peer must read, in bytes per second, or its read is given up.
    package var rateMin = 16 << 10
    /// How far a peer may fall behind that rate.
    package var patience = Duration.seconds(60)

    package init() {}
}
