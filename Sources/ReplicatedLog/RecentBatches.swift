/// The latest batches of a log, for nodes that begin to follow this one, and were at the end of the log a moment ago.
struct RecentBatches: Sendable {
    private var batches: [(batch: LogBatch, time: Int64)] = []
    /// The first of `batches` that is still there.
    private var start = 0
    private var byteCount = 0

    var isEmpty: Bool { batches.isEmpty }

    /// Costs amortised constant time.
    ///
    /// - parameter limit: the batches before the latest ones that have so many bytes are forgotten.
    mutating func add(_ batch: LogBatch, at time: Int64, keeping limit: Int) {
        batches.append((batch, time))
        byteCount += batch.byteCount
        while byteCount > limit, start < batches.count - 1 { forgetFirst() }
        compact()
    }

    /// Forgets those that were added before a time.
    mutating func forget(before time: Int64) {
        while start < batches.count, batches[start].time < time { forgetFirst() }
        compact()
    }

    private mutating func forgetFirst() {
        byteCount -= batches[start].batch.byteCount
        start += 1
    }

    private mutating func compact() {
        guard start > batches.count / 2 else { return }
        batches.removeFirst(start)
        start = 0
    }

    /// Those that have operations after one; nil if some are missing.
    ///
    /// - parameter end: of the log, as far as this node knows.
    func batches(after sequence: UInt64, upTo end: UInt64) -> [LogBatch]? {
        if sequence >= end { return [] }
        guard start < batches.count, batches[start].batch.firstSequence <= sequence + 1 else { return nil }
        return batches[start...].drop { $0.batch.lastSequence <= sequence }.map(\.batch)
    }
}
