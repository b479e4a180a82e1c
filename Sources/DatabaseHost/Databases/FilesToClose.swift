import HearthStorageErrors
import Synchronization
import HearthTreeStorage

/// The files of a database on their way to the thread that closes them: SQLite copies its write-ahead files when the
/// last connection ends, which takes a while.
final class FilesToClose: Sendable {
    private let files: Mutex<(log: LogFile, tree: TreeFile)?>

    init(_ log: LogFile, _ tree: TreeFile) { files = Mutex((log, tree)) }

    /// Closes them. Returns whether the log has more than it always keeps.
    func close() -> Bool {
        guard let (log, tree) = files.withLock({ $0.take() }) else { return false }
        // Data are safe in the write-ahead file as well. This thread serves all databases, so no reader is waited for.
        _ = try? tree.emptyWriteAheadFile()
        try? log.sync()
        return (try? log.hasHistory()) ?? true
    }
}
