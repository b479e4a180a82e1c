import CSQLite
import RealtimeDatabase

/// A prepared statement. Parameters count from 1, columns from 0.
final class Statement {
    private let handle: OpaquePointer
    private let connection: Connection

    fileprivate static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(handle: OpaquePointer, connection: Connection) {
        self.handle = handle
        self.connection = connection
    }

    deinit { sqlite3_finalize(handle) }

    func bind(_ index: Int32, _ value: Int64) { sqlite3_bind_int64(handle, index, value) }

    func bind(_ index: Int32, _ value: String) { sqlite3_bind_text(handle, index, value, -1, Self.copied) }

    func bind(_ index: Int32, _ value: [UInt8]) {
        _ = value.withUnsafeBytes { bytes in
            // An empty array has no address, and a null pointer would bind NULL.
            if let address = bytes.baseAddress, bytes.count > 0 {
                sqlite3_bind_blob64(handle, index, address, UInt64(bytes.count), Self.copied)
            } else {
                sqlite3_bind_zeroblob(handle, index, 0)
            }
        }
    }

    /// Steps to the next row; false at the end.
    func step() throws(StorageError) -> Bool {
        let code = sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw connection.error(code)
        }
    }

    /// Runs a statement that answers no rows, and makes it ready for the next time.
    func run() throws(StorageError) {
        defer { reset() }
        _ = try step()
    }

    /// Runs a statement for the first column of its first row, and makes it ready for the next time. A statement that is not reset, even
    /// after an error, keeps its old parameters.
    func firstInteger() throws(StorageError) -> Int64? {
        defer { reset() }
        return try step() ? integer(0) : nil
    }

    func reset() { sqlite3_reset(handle) }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func text(_ column: Int32) -> String { sqlite3_column_text(handle, column).map { String(cString: $0) } ?? "" }

    func blob(_ column: Int32) -> [UInt8] { withBlob(column) { Array($0) } }

    /// The bytes are valid only within `body`.
    func withBlob<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = sqlite3_column_blob(handle, column)
        return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
