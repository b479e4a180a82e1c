import CHearthSQLite
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

/// Rows in memory as a table of SQLite's, with the columns `key`, `checksum` and `value`. One `INSERT … SELECT` writes
/// all of them: it goes on in the B-tree where the row before it is, which a statement for each row would have to look
/// for from the root.
///
/// SQLite calls it a virtual table (https://sqlite.org/vtab.html). One statement reads it at a time.
final class RowSource {
    private var rows = UnsafeBufferPointer<Row>(start: nil, count: 0)
    private var indices = UnsafeBufferPointer<Int>(start: nil, count: 0)
    private var sequence: UInt64 = 0
    /// The row that is read now, by its place in `indices`.
    private var position = 0
    // Of that row. Safe because: they are bytes of `rows`, which ``provide(_:at:_:during:)`` keeps, or of `header`.
    private var key = UnsafeRawBufferPointer(start: nil, count: 0)
    private var value = UnsafeRawBufferPointer(start: nil, count: 0)
    private var checksum: Int64 = 0
    /// The stored form of the value, if the row has none of its own in memory.
    private var header: [UInt8] = []
    private let hasValues: Bool
    private var total = RowTotal()

    /// - parameter hasValues: otherwise `value` is of no use, and the checksums are those of rows without.
    init(_ name: String, hasValues: Bool, _ connection: Connection) throws(StorageError) {
        self.hasValues = hasValues
        // SQLite lets go of it with the connection, and after an error.
        let code = sqlite3_create_module_v2(
            connection.handle, name, Self.module, Unmanaged.passRetained(self).toOpaque()
        ) { Unmanaged<RowSource>.fromOpaque($0!).release() }
        guard code == SQLITE_OK else { throw connection.error(code) }
    }

    /// The table has these rows while `body` runs, which reads them to their end, and none before and after.
    ///
    /// - parameters:
    ///   - indices: those of `rows` that the table has, in this order.
    ///   - sequence: the number of the rows, which the checksums cover.
    /// - returns: the total of the rows that were read.
    func provide(
        _ rows: [Row], at indices: [Int], _ sequence: UInt64, during body: () throws(StorageError) -> Void
    ) throws(StorageError) -> RowTotal {
        try rows.withUnsafeBufferPointer { (rows) throws(StorageError) in
            try indices.withUnsafeBufferPointer { (indices) throws(StorageError) in
                (self.rows, self.indices, self.sequence, total) = (rows, indices, sequence, RowTotal())
                defer { takeBack() }
                try body()
            }
        }
        return total
    }

    private func takeBack() {
        rows = .init(start: nil, count: 0)
        indices = .init(start: nil, count: 0)
        key = .init(start: nil, count: 0)
        value = key
        header = []
    }

    // MARK: What SQLite asks for

    fileprivate func begin() {
        position = 0
        read()
    }

    fileprivate func advance() {
        position += 1
        read()
    }

    fileprivate var isAtEnd: Bool { position >= indices.count }

    private func read() {
        if isAtEnd { return }
        let index = indices[position]
        key = rows[index].key.withUnsafeBytes { $0 }
        if hasValues {
            if case .subtree(let json) = rows[index].value {
                value = json.bytes.withUnsafeBytes { $0 }
            } else {
                header = rows[index].value.encoded
                value = header.withUnsafeBytes { $0 }
            }
        }
        checksum = RowChecksum.of(key, Int64(sequence), value)
        total.add(checksum)
    }

    fileprivate func answer(_ column: Int32, to context: OpaquePointer?) {
        switch column {
        case 0: Self.answer(key, to: context)
        case 1: sqlite3_result_int64(context, checksum)
        default: Self.answer(value, to: context)
        }
    }

    private static func answer(_ bytes: UnsafeRawBufferPointer, to context: OpaquePointer?) {
        // A null pointer would be NULL.
        if let address = bytes.baseAddress, bytes.count > 0 {
            // Not copied: SQLite is done with a row when it asks for the next one.
            sqlite3_result_blob64(context, address, UInt64(bytes.count), nil)
        } else {
            sqlite3_result_zeroblob(context, 0)
        }
    }

    fileprivate var rowNumber: Int64 { Int64(position) }

    // Safe because: nobody writes to it once it is made. It lives as long as the process.
    private nonisolated(unsafe) static let module: UnsafeMutablePointer<sqlite3_module> = {
        let module = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
        module.initialize(to: sqlite3_module())
        // Without `xCreate` it can be read at once, under the name of its module.
        module.pointee.xConnect = { connection, source, _, _, table, _ in
            let code = sqlite3_declare_vtab(connection, "CREATE TABLE source(key, checksum, value)")
            if code == SQLITE_OK { table?.pointee = OpenTable.make(source) }
            return code
        }
        module.pointee.xDisconnect = { table in
            OpenTable.free(table)
            return SQLITE_OK
        }
        module.pointee.xBestIndex = { _, plan in
            plan?.pointee.estimatedRows = 1000
            plan?.pointee.estimatedCost = 1000
            return SQLITE_OK
        }
        module.pointee.xOpen = { _, cursor in
            let new = UnsafeMutablePointer<sqlite3_vtab_cursor>.allocate(capacity: 1)
            new.initialize(to: sqlite3_vtab_cursor())
            cursor?.pointee = new
            return SQLITE_OK
        }
        module.pointee.xClose = { cursor in
            cursor?.deallocate()
            return SQLITE_OK
        }
        module.pointee.xFilter = { cursor, _, _, _, _ in
            OpenTable.source(of: cursor).begin()
            return SQLITE_OK
        }
        module.pointee.xNext = { cursor in
            OpenTable.source(of: cursor).advance()
            return SQLITE_OK
        }
        module.pointee.xEof = { cursor in OpenTable.source(of: cursor).isAtEnd ? 1 : 0 }
        module.pointee.xColumn = { cursor, context, column in
            OpenTable.source(of: cursor).answer(column, to: context)
            return SQLITE_OK
        }
        module.pointee.xRowid = { cursor, number in
            number?.pointee = OpenTable.source(of: cursor).rowNumber
            return SQLITE_OK
        }
        return module
    }()
}

/// What SQLite knows an open table by: its own structure, and after that the source. It is closed before the connection
/// lets go of the source.
private enum OpenTable {
    private static let offset = MemoryLayout<sqlite3_vtab>.stride

    static func make(_ source: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<sqlite3_vtab> {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: offset + MemoryLayout<UnsafeMutableRawPointer?>.stride,
            alignment: MemoryLayout<sqlite3_vtab>.alignment)
        memory.storeBytes(of: source, toByteOffset: offset, as: UnsafeMutableRawPointer?.self)
        let table = memory.bindMemory(to: sqlite3_vtab.self, capacity: 1)
        table.initialize(to: sqlite3_vtab())
        return table
    }

    static func free(_ table: UnsafeMutablePointer<sqlite3_vtab>?) { UnsafeMutableRawPointer(table)?.deallocate() }

    static func source(of cursor: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> RowSource {
        let source = UnsafeRawPointer(cursor!.pointee.pVtab!).load(
            fromByteOffset: offset, as: UnsafeMutableRawPointer.self)
        return Unmanaged<RowSource>.fromOpaque(source).takeUnretainedValue()
    }
}
