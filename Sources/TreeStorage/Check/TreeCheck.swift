import HearthJSONTree
import HearthTreeText
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

/// Compares everything in the tables of a tree file with its checksums, and with the totals, which know of rows that
/// are missing. Reads the whole file; flat memory.
enum TreeCheck {
    /// Told of each thing that is damaged. It may throw to end the check.
    typealias Report = (String) throws(StorageError) -> Void

    /// - parameter connection: of a file of the present version.
    static func run(_ connection: Connection, report: Report) throws(StorageError) {
        let rows = try sum(connection, "SELECT key, sequence, checksum, value FROM row ORDER BY key", report) {
            "the row of \(describe($0))"
        }
        try compare(rows, with: "row", connection, report)
        let entries = try sum(connection, "SELECT key, sequence, checksum, x'' FROM index_entry ORDER BY key", report) {
            _ in "an entry of an index"
        }
        try compare(entries, with: "index_entry", connection, report)
        for table in ["cleared", "cleared_entry"] {
            _ = try sum(connection, "SELECT lower, sequence, checksum, upper FROM \(table)", report) { _ in
                "a range of removed rows"
            }
        }
        _ = try sum(connection, "SELECT x'', connection, checksum, writes FROM owed", report) { _ in
            "an on-disconnect write"
        }
        // Files of version 1 have none.
        if try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'outbox'") == 1 {
            _ = try sum(connection, "SELECT key, 0, checksum, event FROM outbox", report) {
                describe(OutboxKey(bytes: $0))
            }
        }
        do throws(StorageError) {
            for name in ["sequence", "stamp"] { _ = try MetaTable.integer(name, in: connection) }
            _ = try MetaTable.bytes("indexes", in: connection)
        } catch {
            try report(error.detail)
        }
    }

    private static func compare(
        _ found: RowTotal, with table: String, _ connection: Connection, _ report: Report
    ) throws(StorageError) {
        let expected: RowTotal
        do throws(StorageError) {
            expected = try MetaTable.total(of: table, in: connection)
        } catch {
            return try report(error.detail)
        }
        if found != expected {
            try report(
                "the table '\(table)' has \(found.count) rows, which are not the \(expected.count) that were written")
        }
    }

    /// Columns of `sql`: key, sequence, checksum and value.
    private static func sum(
        _ connection: Connection, _ sql: String, _ report: Report, _ describe: ([UInt8]) -> String
    ) throws(StorageError) -> RowTotal {
        var total = RowTotal()
        let select = try connection.prepare(sql)
        while try select.step() {
            let checksum = select.integer(2)
            total.add(checksum)
            let isSound = select.withBlob(0) { key in
                select.withBlob(3) { RowChecksum.of(key, select.integer(1), $0) == checksum }
            }
            if !isSound { try report("\(describe(select.blob(0))) has a wrong checksum") }
        }
        return total
    }

    /// The place of a row, for people.
    static func describe(_ key: [UInt8]) -> String {
        Path(validatingEncoded: key).map { $0.depth == 0 ? "/" : "\($0)" } ?? "a key that is not a path"
    }

    /// An event of the outbox, for people.
    static func describe(_ key: OutboxKey) -> String {
        guard key.isWhole else { return "an event of a trigger" }
        let aside = key.isAside ? ", which was set aside," : ""
        return "the event \(key.sequence)-\(key.index) of the trigger '\(key.trigger)'\(aside)"
    }
}

extension StorageError {
    /// The damaged part, or the whole message of another error.
    fileprivate var detail: String { if case .damaged(let detail) = self { detail } else { message } }
}
