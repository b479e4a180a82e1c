import Glibc
import HearthJSONTree
import HearthTreeText
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

extension Backup {
    /// Looks at everything in a backup: the file's own structure, every row, every turn of the log and the numbers that
    /// join them. Throws if a server would not have written it so. Reads the whole file; flat memory.
    package static func check(_ path: String) throws(BackupError) -> Summary {
        guard access(path, R_OK) == 0 else { throw BackupError("cannot read \(path)") }
        do throws(StorageError) {
            let connection = try Connection(path: path, mode: .readOnly)
            var summary = try readSummary(connection, path)
            try checkStructure(connection, byteCount: summary.byteCount)
            if try connection.integer("PRAGMA user_version") ?? 0 > 0 {
                try TreeCheck.run(connection) { (problem) throws(StorageError) in throw .damaged(problem) }
            }
            let reached = try connection.integer("SELECT value FROM meta WHERE name = 'sequence'") ?? -1
            guard reached >= 0 else { throw .damaged("it does not say how far its rows reach") }
            let noted = try connection.integer("SELECT value FROM backup WHERE name = 'reached'") ?? reached
            guard noted == reached else { throw .damaged("its rows reach to \(noted), not to \(reached)") }
            summary.sequence = try checkLog(connection, after: UInt64(reached))
            summary.laterWrites = Int(summary.sequence - UInt64(reached))
            try checkOwed(connection)
            summary.rows = try checkRows(connection, stamp: try stamp(connection, reached))
            summary.changes = try checkHistory(connection, upTo: summary.sequence)
            return summary
        } catch {
            throw BackupError(message: "\(path): \(error.message)")
        }
    }

    private static func readSummary(_ connection: Connection, _ path: String) throws(StorageError) -> Summary {
        guard try connection.integer("PRAGMA application_id") == applicationID else {
            throw .damaged("it is not a backup of a database")
        }
        let found = try connection.integer("SELECT value FROM backup WHERE name = 'version'") ?? 0
        let format = try connection.integer("PRAGMA user_version") ?? 0
        guard found == 1 && format == 0 || found == version && (1...TreeFormat.version).contains(format) else {
            throw .damaged("it was made by another version of hearth")
        }
        let database = try connection.prepare("SELECT value FROM backup WHERE name = 'database'")
        guard try database.step() else { throw .damaged("it does not say what it is a backup of") }
        let time = try connection.integer("SELECT value FROM backup WHERE name = 'time'") ?? 0
        return Summary(
            database: database.text(0), sequence: 0, time: time, rows: 0, laterWrites: 0, byteCount: size(of: path))
    }

    private static func checkStructure(_ connection: Connection, byteCount: Int) throws(StorageError) {
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        let pageSize = try connection.integer("PRAGMA page_size") ?? 0
        guard pages * pageSize == Int64(byteCount) else { throw .damaged("it is cut short") }
        let check = try connection.prepare("PRAGMA integrity_check(1)")
        guard try check.step(), check.text(0) == "ok" else { throw .damaged(check.text(0)) }
    }

    /// Answers the last operation.
    ///
    /// - parameter sequence: how far the rows reach; nil if that is not known.
    static func checkLog(_ connection: Connection, after sequence: UInt64?) throws(StorageError) -> UInt64 {
        let first = try connection.integer("SELECT first FROM log ORDER BY first LIMIT 1") ?? 1
        var last = UInt64(max(first, 1)) - 1
        if let sequence, last > sequence { throw .damaged("its log begins at \(first), its rows end at \(sequence)") }
        try LogFile.forEachRecord(in: connection, after: last) { (record) throws(StorageError) in
            for operation in try record.operations() {
                guard isSound(operation.content) else {
                    throw .damaged("log row \(record.firstSequence) holds an invalid value")
                }
            }
            last = record.lastSequence
        }
        if let sequence, last < sequence { throw .damaged("its log ends at \(last), its rows at \(sequence)") }
        return last
    }

    private static func isSound(_ content: LoggedOperation.Content) -> Bool {
        switch content {
        case .change(let change): change.assignments.allSatisfy { CanonicalJSON.isCanonical($0.value.bytes) }
        case .owe(let assignments, _, _): isSound(owed: assignments)
        case .cancelOwed: true
        case .outbox(let change): change.added.allSatisfy { (try? TriggerEvent(stored: $0.event)) != nil }
        }
    }

    /// Their server values are still to be resolved.
    private static func isSound(owed assignments: [Assignment]) -> Bool {
        assignments.allSatisfy { CanonicalJSON.isCanonical($0.value.bytes, mayHaveServerValues: true) }
    }

    static func checkOwed(_ connection: Connection) throws(StorageError) {
        let select = try connection.prepare("SELECT writes FROM owed")
        while try select.step() {
            guard isSound(owed: try OwedWrites(stored: select.blob(0)).assignments) else {
                throw .damaged("an on-disconnect write is invalid")
            }
        }
    }

    /// The greatest stamp of a row. Files of before there were stamps have the sequence number in their place.
    static func stamp(_ connection: Connection, _ sequence: Int64) throws(StorageError) -> Int64 {
        try connection.integer("SELECT value FROM meta WHERE name = 'stamp'") ?? sequence
    }

    /// Answers the number of rows, and compares them with the checksum of a backup.
    private static func checkRows(_ connection: Connection, stamp: Int64) throws(StorageError) -> Int {
        let rows = try checkLiveRows(connection, stamp: stamp)
        let checksum = try connection.integer("SELECT value FROM backup WHERE name = 'checksum'")
        guard checksum == Int64(bitPattern: rows.checksum) else {
            throw .damaged("its rows are not those that it was made of")
        }
        return rows.count
    }

    /// Whether the rows make a tree.
    static func checkLiveRows(
        _ connection: Connection, stamp: Int64
    ) throws(StorageError) -> (count: Int, checksum: UInt64) {
        /// The last row that holds a whole subtree: nothing lies inside it.
        var subtree: [UInt8]?
        return try sum(connection) { (row) throws(StorageError) in
            let key = row.blob(0)
            guard let path = Path(validatingEncoded: key), path.depth <= Path.maximumDepth else {
                throw .damaged("the key of a row is not a path")
            }
            if let subtree, key.starts(with: subtree) { throw .damaged("the row of \(path) lies inside another one") }
            guard (0...stamp).contains(row.integer(1)) else {
                throw .damaged("the row of \(path) is newer than the tree")
            }
            let isValid = row.withBlob(2) { bytes in
                let value = RowValue(encoded: bytes)
                if case .header(let priority) = value {
                    return priority.isPriority && CanonicalJSON.isCanonical(priority.bytes)
                }
                subtree = key
                return CanonicalJSON.isCanonical(Array(bytes), depth: Path.maximumDepth - path.depth)
            }
            guard isValid else { throw .damaged("the row of \(path) holds an invalid value") }
        }
    }
}
