import HearthDatabaseScheduler
import HearthRealtimeDatabase
import HearthStorageErrors
import HearthSystem

/// A commit log whose appends are measured.
final class MeasuredLog: CommitLog {
    private let log: any CommitLog
    private let metrics: ServerMetrics

    init(_ log: any CommitLog, _ metrics: ServerMetrics) {
        self.log = log
        self.metrics = metrics
    }

    func append(_ records: [LogRecord]) throws(CommitFailure) {
        let start = MonotonicTime.current
        do throws(CommitFailure) {
            try log.append(records)
        } catch {
            metrics.noteFailedCommit()
            throw error
        }
        metrics.noteCommit(of: records, since: start)
    }

    func storeArrived(through sequence: UInt64) throws(CommitFailure) { try log.storeArrived(through: sequence) }

    func noteArrived(through sequence: UInt64) { log.noteArrived(through: sequence) }

    func storeNextPart(of text: TextParts) throws(CommitFailure) -> TextParts { try log.storeNextPart(of: text) }

    func dropParts() { log.dropParts() }

    func probe() throws(CommitFailure) { try log.probe() }

    func prune(_ pruning: LogPruning) throws(CommitFailure) -> Bool { try log.prune(pruning) }

    func forEachRecord(
        after sequence: UInt64, _ body: (LogRecord) throws(StorageError) -> Void
    ) throws(StorageError) {
        try log.forEachRecord(after: sequence, body)
    }

    func close() { log.close() }
}
