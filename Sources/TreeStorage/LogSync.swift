import Glibc
package import HearthStorageErrors
import Synchronization

/// Has the disk take a commit log whose commits do not wait for that (``LogFile/deferSyncs()``), as others have them on
/// their disks. Any thread.
///
/// The system tells of a failed write to the disk once, and has forgotten the bytes afterwards: a descriptor that is
/// opened later, or another sync, hears of no failure. So one descriptor is kept from before the first write, syncs
/// come one after the other, and after a failure none succeeds.
package final class LogSync: Sendable {
    private struct State {
        /// The last operation that was written, and the last one that the disk has.
        var written: UInt64
        var synced: UInt64?
        var failure: StorageError?
    }

    private struct Turn {
        /// -1 once it is closed.
        var descriptor: Int32
        /// Told of the outcome.
        var report: (@Sendable (UInt64) -> Void)?
    }

    private let path: String
    private let state: Mutex<State>
    /// Held during a sync.
    private let turn: Mutex<Turn>

    // As a struct, it is not read correctly by debug builds of Swift 6.3.1.
    private final class Entry: Sendable {
        weak let log: LogSync?
        let id: ObjectIdentifier

        init(_ log: LogSync) { (self.log, id) = (log, ObjectIdentifier(log)) }
    }

    /// By their paths. Nothing releases an object while it holds the lock: the last reference to it would have it
    /// closed, which takes the lock.
    private static let open = Mutex<[String: Entry]>([:])

    /// - parameters:
    ///   - file: a log that was opened as one that is shared. This object is made before anything is appended.
    ///   - sequence: the last operation in it, or in the tree.
    ///   - failure: of an earlier object for this file in this process.
    package init(
        _ file: LogFile, through sequence: UInt64, after failure: StorageError? = nil
    ) throws(StorageError) {
        path = file.path
        let name = file.path + "-wal"
        let descriptor = Glibc.open(name, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.error(name, errno) }
        turn = Mutex(Turn(descriptor: descriptor))
        state = Mutex(State(written: sequence, failure: failure))
        // SQLite may have made the file a moment ago, and has not synced its name.
        let code = FolderSync.sync(FolderSync.folder(of: name))
        guard code == 0 else { throw Self.error(name, code) }
        Self.open.withLock { $0[path] = Entry(self) }
    }

    deinit { close() }

    /// Nothing is synced from now on. What the disk has, it has.
    package func close() {
        turn.withLock { turn in
            turn.report = nil
            guard turn.descriptor >= 0 else { return }
            Glibc.close(turn.descriptor)
            turn.descriptor = -1
            // Another object may be that of the file by now.
            let id = ObjectIdentifier(self)
            Self.open.withLock { open in if open[path]?.id == id { open[path] = nil } }
        }
    }

    private static func error(_ name: String, _ code: Int32) -> StorageError {
        .inputOutput("sync \(name): \(String(cString: strerror(code)))")
    }

    /// Calls `report` with the last operation that the disk has, now and after each sync, in order.
    package func report(to report: @escaping @Sendable (UInt64) -> Void) {
        turn.withLock { turn in
            turn.report = report
            if let synced = state.withLock({ $0.synced }) { report(synced) }
        }
    }

    /// The log has operations up to this one.
    package func wrote(through sequence: UInt64) { state.withLock { $0.written = max($0.written, sequence) } }

    /// There are operations that the disk may not have.
    package var isBehind: Bool { state.withLock { state in state.synced.map { $0 < state.written } ?? true } }

    /// Whether the disk has the log up to an operation.
    package func has(_ sequence: UInt64) -> Bool { state.withLock { $0.synced.map { $0 >= sequence } ?? false } }

    /// Why a sync has failed, and all later ones do.
    package var failure: StorageError? { state.withLock { $0.failure } }

    /// Waits until the disk has everything that was written before the call.
    package func sync() throws(StorageError) {
        try turn.withLock { (turn) throws(StorageError) in
            let (written, failure) = state.withLock { ($0.written, $0.failure) }
            if let failure { throw failure }
            guard turn.descriptor >= 0 else { throw .stopping }
            var code: Int32
            repeat { code = fdatasync(turn.descriptor) } while code != 0 && errno == EINTR
            guard code == 0 else {
                let failure = Self.error(path, errno)
                state.withLock { $0.failure = failure }
                throw failure
            }
            state.withLock { $0.synced = written }
            turn.report?(written)
        }
    }

    /// The same for the log with this path, if its commits do not wait for the disk. To be called before something that
    /// was made of the log becomes durable elsewhere: that would be ahead of the log after a loss of power.
    static func sync(_ path: String) throws(StorageError) {
        if let log = open.withLock({ $0[path]?.log }) { try log.sync() }
    }
}
