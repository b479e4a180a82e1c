import HearthRealtimeDatabase
import HearthServerLog
import Synchronization
import HearthStorageErrors

/// Names damaged rows in the server's log, each of them once. Any thread.
final class DamageLog: Sendable {
    private let log: Log
    private let reported = Mutex<Set<StorageError>>([])
    /// Beyond that many, rows are not told apart any more.
    private static let reportedMax = 1000

    init(_ log: Log) { self.log = log }

    func report(_ error: StorageError, in database: String) {
        let isNew = reported.withLock { $0.count < Self.reportedMax && $0.insert(error).inserted }
        if isNew { log.error("database.damaged", [("database", database), ("error", error.message)]) }
    }
}
