import CSQLite
import JSONTree
import WireProtocol

/// What a client keeps on disk: the values that it was told, and its writes that the server has not answered. A SQLite
/// file, open in one process at a time, used by one thread.
///
/// What is written survives the end of the process. After a power loss the last seconds may be missing. An error while
/// it is used ends the keeping, not the client.
final class CacheFile {
    private let handle: OpaquePointer
    private var isBroken = false

    /// Opens a file or makes one.
    ///
    /// - parameter database: whose values these are. A file of another database is refused.
    init(path: String, database: String, bytesMax: Int) throws(DatabaseError) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2(path.hasPrefix("file:") ? "./" + path : path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw .cache("\(path) cannot be opened: \(String(cString: sqlite3_errstr(code)))")
        }
        handle = opened
        // A database that was closed may still be saving.
        sqlite3_busy_timeout(handle, 2000)
        let setUp = """
            PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;
            BEGIN IMMEDIATE;
            CREATE TABLE IF NOT EXISTS owner (database TEXT);
            CREATE TABLE IF NOT EXISTS listens (
                path BLOB, query BLOB, value BLOB, position BLOB, used INTEGER, PRIMARY KEY (path, query));
            CREATE TABLE IF NOT EXISTS writes (number INTEGER PRIMARY KEY, message BLOB);
            COMMIT;
            """
        guard sqlite3_exec(handle, setUp, nil, nil, nil) == SQLITE_OK else {
            throw .cache("\(path) cannot be used: \(String(cString: sqlite3_errmsg(handle)))")
        }
        let owner = rows("SELECT database FROM owner", []) { $0.text(0) }.first
        if let owner, owner != database { throw .cache("\(path) holds values of \(owner)") }
        if owner == nil { run("INSERT INTO owner VALUES (?1)", [.text(database)]) }
        dropOldest(keeping: bytesMax)
    }

    deinit { sqlite3_close_v2(handle) }

    // MARK: Writes

    /// The writes that were not answered, in order, with their numbers.
    func writes() -> [(number: Int, request: ClientRequest)] {
        rows("SELECT number, message FROM writes ORDER BY number", []) { row in (row.integer(0), row.blob(1)) }
            .compactMap { number, message in
                let parsed = message.withUnsafeBytes { try? ClientMessage.parse($0) }
                guard case .request(_, let request)? = parsed else { return nil }
                return (Int(number), request)
            }
    }

    func add(_ number: Int, _ request: ClientRequest) {
        var message: [UInt8] = []
        ClientMessageWriter.append(request, number: Int64(number), to: &message)
        run("INSERT OR REPLACE INTO writes VALUES (?1, ?2)", [.integer(Int64(number)), .blob(message)])
    }

    func removeWrite(_ number: Int) { run("DELETE FROM writes WHERE number = ?1", [.integer(Int64(number))]) }

    // MARK: Values

    /// What a listen has.
    struct Entry {
        let listen: ServerListen
        let value: Node
        let position: CommitPosition
    }

    /// What was saved of a place, and the last commit in it.
    typealias Saved = (value: Node, position: CommitPosition)

    /// What a listen had when it was saved last: its own value, or its part of the whole value of a place above.
    func value(of listen: ServerListen) -> Saved? {
        if let query = listen.query {
            if let own = value(at: listen.path, query.text) { return own }
            return wholeValue(at: listen.path).map { (query.query.select(from: $0.value), []) }
        }
        return wholeValue(at: listen.path)
    }

    private func wholeValue(at path: Path) -> Saved? {
        var holder: Path? = path
        while let place = holder {
            if let saved = value(at: place, []), let relative = path.suffix(after: place) {
                return (saved.value.value(at: relative), saved.position)
            }
            holder = place.parent
        }
        return nil
    }

    /// `query` is empty for the whole value.
    private func value(at path: Path, _ query: [UInt8]) -> Saved? {
        let found = rows(
            "SELECT value, position FROM listens WHERE path = ?1 AND query = ?2", [.blob(path.encoded), .blob(query)]
        ) { ($0.blob(0), $0.blob(1)) }
        guard let (text, position) = found.first, let value = try? CanonicalJSON.parse(text).value else { return nil }
        return (Node(value), position)
    }

    /// Saves what listens have, all or none.
    func save(_ entries: [Entry], at time: Int64) {
        if entries.isEmpty { return }
        run("BEGIN IMMEDIATE", [])
        for entry in entries {
            run(
                "INSERT OR REPLACE INTO listens VALUES (?1, ?2, ?3, ?4, ?5)",
                [
                    .blob(entry.listen.path.encoded), .blob(entry.listen.query?.text ?? []),
                    .blob(entry.value.canonical.bytes), .blob(entry.position), .integer(time),
                ])
        }
        run("COMMIT", [])
    }

    /// Drops the values that were saved longest ago.
    private func dropOldest(keeping bytesMax: Int) {
        run(
            """
            DELETE FROM listens WHERE rowid IN (
                SELECT rowid FROM (
                    SELECT rowid, sum(length(value)) OVER (ORDER BY used DESC, rowid) AS total FROM listens)
                WHERE total > ?1)
            """, [.integer(Int64(bytesMax))])
    }

    // MARK: SQLite

    private enum Parameter {
        case integer(Int64)
        case text(String)
        case blob([UInt8])
    }

    private struct Row {
        let statement: OpaquePointer

        func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }
        func text(_ column: Int32) -> String {
            sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
        }
        func blob(_ column: Int32) -> [UInt8] {
            let start = sqlite3_column_blob(statement, column)
            return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
        }
    }

    private func run(_ sql: String, _ parameters: [Parameter]) { _ = rows(sql, parameters) { _ in } }

    /// Runs a statement. Without rows after an error.
    private func rows<Result>(_ sql: String, _ parameters: [Parameter], _ read: (Row) -> Result) -> [Result] {
        // Copies what is bound.
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        var prepared: OpaquePointer?
        guard !isBroken, sqlite3_prepare_v2(handle, sql, -1, &prepared, nil) == SQLITE_OK, let prepared else {
            isBroken = true
            return []
        }
        defer { sqlite3_finalize(prepared) }
        for (index, parameter) in zip(Int32(1)..., parameters) {
            switch parameter {
            case .integer(let value): sqlite3_bind_int64(prepared, index, value)
            case .text(let value): sqlite3_bind_text(prepared, index, value, -1, transient)
            // An empty array has no address, and a null pointer would bind NULL.
            case .blob([]): sqlite3_bind_zeroblob(prepared, index, 0)
            case .blob(let value):
                _ = value.withUnsafeBytes {
                    sqlite3_bind_blob64(prepared, index, $0.baseAddress, UInt64($0.count), transient)
                }
            }
        }
        var rows: [Result] = []
        while true {
            switch sqlite3_step(prepared) {
            case SQLITE_ROW: rows.append(read(Row(statement: prepared)))
            case SQLITE_DONE: return rows
            default:
                isBroken = true
                return rows
            }
        }
    }
}
