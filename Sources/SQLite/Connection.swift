import CHearthSQLite
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
package import HearthStorageErrors

/// One SQLite connection. It may move between threads but is used by one at a time, so SQLite's own locks are off.
package final class Connection {
    package enum Mode {
        case readWrite
        case readOnly
        /// As `readWrite`; other files can be attached by their URIs.
        case joining
        /// As `joining`, if the file is there: one that another thread has removed is not made again.
        case joiningExisting
    }

    package let handle: OpaquePointer
    /// The file.
    package let path: String

    /// Settings of the library for the whole process.
    private static let library: Void = { _ = sqlite3_config_no_memory_statistics() }()

    package init(path: String, mode: Mode) throws(StorageError) {
        Self.library
        var handle: OpaquePointer?
        let flags =
            switch mode {
            case .readWrite: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .readOnly: SQLITE_OPEN_READONLY
            case .joining: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI
            case .joiningExisting: SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI
            }
        // It is a path, not a URI.
        let path = path.hasPrefix("file:") ? "./" + path : path
        // SQLite would let everybody read a file that it makes. One that is there is not opened: closing it would end
        // the locks that this process has on it.
        if flags & SQLITE_OPEN_CREATE != 0 { createPrivately(path) }
        let code = sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let handle else {
            let error = Self.error(code, handle: handle, path: path)
            sqlite3_close(handle)
            throw error
        }
        self.handle = handle
        self.path = path
        sqlite3_extended_result_codes(handle, 1)
        // Another connection of this process may be checkpointing.
        sqlite3_busy_timeout(handle, 10_000)
    }

    deinit { sqlite3_close_v2(handle) }

    /// Runs statements without parameters or rows.
    package func execute(_ sql: String) throws(StorageError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// Runs `body` in one transaction, which is undone when it throws.
    package func transaction(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        try execute("BEGIN IMMEDIATE")
        do throws(StorageError) {
            try body()
            try execute("COMMIT")
        } catch {
            // A full disk ends the transaction by itself; then there is nothing to roll back.
            if isInTransaction { try? execute("ROLLBACK") }
            throw error
        }
    }

    /// Whether a transaction is open. A full disk ends it by itself.
    package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    package func error(_ code: Int32) -> StorageError {
        Self.error(code, handle: handle, path: sqlite3_db_filename(handle, "main").map(String.init(cString:)) ?? "")
    }

    private static func error(_ code: Int32, handle: OpaquePointer?, path: String) -> StorageError {
        // The error of the last system call, which `sqlite3_system_errno` does not have after a commit.
        let cause = errno
        // Without a handle, this says that there was no memory for one.
        let detail = "\(String(cString: sqlite3_errmsg(handle))) (\(path))"
        return switch code & 0xFF {
        case SQLITE_FULL: .full
        // Reads that fail (1) or are short (2) do not need room.
        case SQLITE_IOERR where code >> 8 > 2 && [ENOSPC, EDQUOT].contains(cause): .full
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_CANTOPEN: .readOnly(detail)
        case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged(detail)
        case SQLITE_BUSY, SQLITE_LOCKED: .busy(detail)
        default: .inputOutput(detail)
        }
    }
}

// Outside of the class, which has functions with the names of the system's.
private func createPrivately(_ path: String) {
    let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if file >= 0 { close(file) }
}
