/// The latest batches of a log, for nodes that begin to follow this one, and were at the end of the log a moment ago.
struct RecentBatches: Sendable {
    private var batches: [LogBatch] = []
    /// The first of `batches` that is still there.
    private var start = 0
    private var byteCount = 0

    var isEmpty: Bool { batches.isEmpty }

    /// Costs amortised constant time.
    ///
    /// - parameter limit: the batches before the latest ones that have so many bytes are forgotten.
    mutating func add(_ batch: LogBatch, keeping limit: Int) {
        batches.append(batch)
        byteCount += batch.byteCount
        while byteCount > limit, start < batches.count - 1 {
            byteCount -= batches[start].byteCount
            start += 1
        }
        if start > batches.count / 2 {
            batches.removeFirst(start)
            start = 0
        }
    }

    /// Those that have operations after one; nil if some are missing.
    ///
    /// - parameter end: of the log, as far as this node knows.
    func batches(after sequence: UInt64, upTo end: UInt64) -> ArraySlice<LogBatch>? {
        if sequence >= end { return [] }
        guard let first = batches.dropFirst(start).first, first.firstSequence <= sequence + 1 else { return nil }
        return batches[start...].drop { $0.lastSequence <= sequence }
    }
}
