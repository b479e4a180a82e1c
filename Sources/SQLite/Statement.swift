import CHearthSQLite
package import HearthStorageErrors

/// A prepared statement. Parameters count from 1, columns from 0.
package final class Statement {
    private let handle: OpaquePointer
    private let connection: Connection

    fileprivate static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(handle: OpaquePointer, connection: Connection) {
        self.handle = handle
        self.connection = connection
    }

    deinit { sqlite3_finalize(handle) }

    package func bind(_ index: Int32, _ value: Int64) { sqlite3_bind_int64(handle, index, value) }

    package func bind(_ index: Int32, _ value: String) {
        sqlite3_bind_text(handle, index, value, Int32(clamping: value.utf8.count), Self.copied)
    }

    package func bindNull(_ index: Int32) { sqlite3_bind_null(handle, index) }

    package func bind(_ index: Int32, _ value: String?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    package func bind(_ index: Int32, _ value: Int64?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    package func bind(_ index: Int32, _ value: [UInt8]) {
        value.withUnsafeBytes { bind(index, bytes: $0) }
    }

    package func bind(_ index: Int32, bytes: UnsafeRawBufferPointer) {
        if let address = bytes.baseAddress, bytes.count > 0 {
            sqlite3_bind_blob64(handle, index, address, UInt64(bytes.count), Self.copied)
        } else {
            // A null pointer would bind NULL.
            sqlite3_bind_zeroblob(handle, index, 0)
        }
    }

    /// Steps to the next row; false at the end.
    package func step() throws(StorageError) -> Bool {
        let code = sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw connection.error(code)
        }
    }

    /// Runs a statement that answers no rows, and makes it ready for the next time.
    package func run() throws(StorageError) {
        defer { reset() }
        _ = try step()
    }

    /// Runs a statement for the first column of its first row, and makes it ready for the next time. A statement that
    /// is not reset, even after an error, keeps its old parameters.
    package func firstInteger() throws(StorageError) -> Int64? {
        defer { reset() }
        return try step() ? integer(0) : nil
    }

    package func reset() { sqlite3_reset(handle) }

    package var columnCount: Int32 { sqlite3_column_count(handle) }

    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    package func isInteger(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_INTEGER }

    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// Empty for NULL.
    package func text(_ column: Int32) -> String {
        withBlob(column) { String(decoding: $0, as: UTF8.self) }
    }

    package func blob(_ column: Int32) -> [UInt8] { withBlob(column) { Array($0) } }

    /// The bytes are valid only within `body`.
    package func withBlob<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = sqlite3_column_blob(handle, column)
        return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}

extension Connection {
    package func prepare(_ sql: String) throws(StorageError) -> Statement {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw error(code) }
        return Statement(handle: statement, connection: self)
    }

    /// The first column of the first row, as an integer.
    package func integer(_ sql: String) throws(StorageError) -> Int64? { try prepare(sql).firstInteger() }
}
