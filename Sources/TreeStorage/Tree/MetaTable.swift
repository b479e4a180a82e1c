import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

/// The table `meta` of a tree file: its properties, each with a checksum.
struct MetaTable {
    private let connection: Connection
    private let upsert: Statement

    /// - parameter connection: writes, or there is nothing to be set.
    init(_ connection: Connection) throws(StorageError) {
        self.connection = connection
        upsert = try connection.prepare("INSERT OR REPLACE INTO meta VALUES (?1, ?2, ?3)")
    }

    func set(_ name: String, _ number: Int64) throws(StorageError) {
        upsert.bind(2, number)
        try set(name, checksum: Self.checksum(name, number))
    }

    func set(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        upsert.bind(2, bytes)
        try set(name, checksum: RowChecksum.of(Array(name.utf8), 0, bytes))
    }

    private func set(_ name: String, checksum: Int64) throws(StorageError) {
        upsert.bind(1, name)
        upsert.bind(3, checksum)
        try upsert.run()
    }

    private static func checksum(_ name: String, _ number: Int64) -> Int64 { RowChecksum.of(Array(name.utf8), number) }

    /// Nil if it does not exist. Throws ``StorageError/damaged(_:)`` if it is damaged.
    static func integer(_ name: String, in connection: Connection) throws(StorageError) -> Int64? {
        let select = try select(name, in: connection)
        guard try select.step() else { return nil }
        let number = select.integer(0)
        guard select.integer(1) == checksum(name, number) else { throw connection.damaged("'\(name)'") }
        return number
    }

    /// The same for bytes.
    static func bytes(_ name: String, in connection: Connection) throws(StorageError) -> [UInt8]? {
        let select = try select(name, in: connection)
        guard try select.step() else { return nil }
        let bytes = select.blob(0)
        guard select.integer(1) == RowChecksum.of(Array(name.utf8), 0, bytes) else {
            throw connection.damaged("'\(name)'")
        }
        return bytes
    }

    /// The stored form of a table's rows.
    static func total(of table: String, in connection: Connection) throws(StorageError) -> RowTotal {
        guard let total = try bytes("total of \(table)", in: connection).flatMap(RowTotal.init(stored:)) else {
            throw connection.damaged("the total of \(table)")
        }
        return total
    }

    func set(total: RowTotal, of table: String) throws(StorageError) { try set("total of \(table)", total.stored) }

    private static func select(_ name: String, in connection: Connection) throws(StorageError) -> Statement {
        let select = try connection.prepare("SELECT value, checksum FROM meta WHERE name = ?")
        select.bind(1, name)
        return select
    }
}

extension Connection {
    /// Its file is damaged.
    func damaged(_ what: String) -> StorageError { .damaged("\(what) has a wrong checksum (\(path))") }
}
