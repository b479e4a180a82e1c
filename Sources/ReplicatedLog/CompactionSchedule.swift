/// Decides when a node has etcd forget old revisions, and up to which one: etcd keeps all revisions until it is told to
/// compact, and takes no writes once its file has reached the quota. A pure value: revisions and times come in.
///
/// Compaction keeps the present value of each key, and so everything that the log still has. Nodes read present values
/// only, and watch from the revision of such a read on. A watch that is further behind than the retention ends, and its
/// node reads the log again.
///
/// * Once per interval, to the newest revision that is as old as the retention.
/// * When etcd has much more in use than after the last time, at once, to a later revision.
///
/// All nodes do this. The first one by name is the one that has something to do: the others ask for revisions that are
/// so old that etcd has compacted them, unless the first one does not.
package struct CompactionSchedule: Sendable {
    package struct Options: Hashable, Sendable {
        /// Between two compactions, in milliseconds.
        package var intervalMilliseconds: Int64 = 30_000
        /// Revisions are kept for so long, in milliseconds.
        package var retentionMilliseconds: Int64 = 60_000
        /// The same when etcd has got much that is new.
        package var retentionMillisecondsMin: Int64 = 10_000
        /// So many bytes more in use are much.
        package var growthBytes: Int64 = 512 << 20
        /// Between two looks at etcd, in milliseconds.
        package var lookMilliseconds: Int64 = 2_000

        package init() {}
    }

    private let options: Options
    /// The revisions that were current at some times, in order of both.
    private var seen: [(revision: Int64, time: Int64)] = []
    private var nextCompaction = Int64.min
    /// The last revision that was asked for.
    private var compacted: Int64 = 0
    /// The least that etcd had in use since then.
    private var usedBytes: Int64?

    /// Later nodes than this one wait no longer.
    private static let rankMax: Int64 = 3

    package init(options: Options = Options()) { self.options = options }

    /// Takes note of a look at etcd.
    ///
    /// - parameters:
    ///   - revision: the present one.
    ///   - usedBytes: what the store has in use.
    ///   - rank: how many nodes come before this one.
    ///   - time: in milliseconds, by a monotonic clock.
    /// - returns: the revision to which etcd is to be compacted now; nil for none.
    package mutating func look(_ revision: Int64, usedBytes used: Int64, rank: Int, at time: Int64) -> Int64? {
        // etcd was lost, and counts from 1 again.
        if let last = seen.last, revision < last.revision { (seen, compacted, usedBytes) = ([], 0, nil) }
        seen.append((revision, time))
        forget(before: time - age(options.retentionMilliseconds, Self.rankMax))
        let base = min(usedBytes ?? used, used)
        usedBytes = base
        let hasGrown = used - base >= options.growthBytes
        guard hasGrown || time >= nextCompaction else { return nil }
        let retention = hasGrown ? options.retentionMillisecondsMin : options.retentionMilliseconds
        let limit = time - age(retention, min(Int64(rank), Self.rankMax))
        guard let target = seen.last(where: { $0.time <= limit })?.revision else { return nil }
        nextCompaction = time + options.intervalMilliseconds
        // If not, nothing was written meanwhile, or growth has had a later one compacted.
        guard target > compacted else { return nil }
        (compacted, usedBytes) = (target, used)
        return target
    }

    /// How old a revision is that a node asks for. The node before it has asked for a later one by then.
    private func age(_ retention: Int64, _ rank: Int64) -> Int64 {
        retention + rank * (retention + options.intervalMilliseconds)
    }

    /// Of the old ones, only the newest is needed.
    private mutating func forget(before time: Int64) {
        if let index = seen.lastIndex(where: { $0.time <= time }) { seen.removeFirst(index) }
    }
}
