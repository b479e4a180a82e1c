import JSONTree
import SQLite
import StorageErrors
import WireProtocol

/// What a client keeps on disk: the values that it was told, and its writes that the server has not answered. A SQLite
/// file, open in one process at a time, used by one thread.
///
/// What is written survives the end of the process. After a power loss the last seconds may be missing. An error while
/// it is used ends the keeping, not the client.
final class CacheFile {
    private let file: SQLite.Connection
    private var isBroken = false

    /// Opens a file or makes one.
    ///
    /// - parameter database: whose values these are. A file of another database is refused.
    init(path: String, database: String, bytesMax: Int) throws(DatabaseError) {
        let owner: String
        do throws(StorageError) {
            file = try SQLite.Connection(path: path, mode: .readWrite)
            owner = try Self.setUp(file, for: database)
        } catch {
            throw .cache("\(path) cannot be used: \(error.message)")
        }
        if owner != database { throw .cache("\(path) holds values of \(owner)") }
        dropOldest(keeping: bytesMax)
    }

    /// Makes the tables of a new file, and answers whose file it is.
    private static func setUp(_ file: SQLite.Connection, for database: String) throws(StorageError) -> String {
        // A database that was closed may still be saving.
        try file.execute(
            """
            PRAGMA busy_timeout=2000; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;
            PRAGMA synchronous=NORMAL;
            """)
        var owner = database
        try file.transaction { () throws(StorageError) in
            // Values are copies: those in another form are dropped.
            if try file.integer("PRAGMA user_version") != 1 { try file.execute("DROP TABLE IF EXISTS listens") }
            try file.execute(
                """
                CREATE TABLE IF NOT EXISTS owner (database TEXT);
                CREATE TABLE IF NOT EXISTS listens (
                    path BLOB, query BLOB, value BLOB, position BLOB, used INTEGER, PRIMARY KEY (path, query));
                CREATE TABLE IF NOT EXISTS writes (number INTEGER PRIMARY KEY, message BLOB);
                PRAGMA user_version=1;
                """)
            let known = try file.prepare("SELECT database FROM owner")
            if try known.step() {
                owner = known.text(0)
            } else {
                let new = try file.prepare("INSERT INTO owner VALUES (?1)")
                new.bind(1, database)
                try new.run()
            }
        }
        return owner
    }

    // MARK: Writes

    /// The writes that were not answered, in order, with their numbers.
    func writes() -> [(number: Int, request: ClientRequest)] {
        rows("SELECT number, message FROM writes ORDER BY number") { row in (row.integer(0), row.blob(1)) }
            .compactMap { number, message in
                let parsed = message.withUnsafeBytes { try? ClientMessage.parse($0) }
                guard case .request(_, let request)? = parsed else { return nil }
                return (Int(number), request)
            }
    }

    func add(_ number: Int, _ request: ClientRequest) {
        var message: [UInt8] = []
        ClientMessageWriter.append(request, number: Int64(number), to: &message)
        run("INSERT OR REPLACE INTO writes VALUES (?1, ?2)") {
            $0.bind(1, Int64(number))
            $0.bind(2, message)
        }
    }

    func removeWrite(_ number: Int) { run("DELETE FROM writes WHERE number = ?1") { $0.bind(1, Int64(number)) } }

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
        let found = rows("SELECT value, position FROM listens WHERE path = ?1 AND query = ?2") {
            $0.bind(1, path.encoded)
            $0.bind(2, query)
        } _: {
            ($0.blob(0), $0.blob(1))
        }
        guard let (text, position) = found.first, let value = try? CanonicalJSON.parse(text).value else { return nil }
        return (Node(value), position)
    }

    /// Saves what listens have, all or none.
    func save(_ entries: [Entry], at time: Int64) {
        if entries.isEmpty { return }
        attempt { (file) throws(StorageError) in
            try file.transaction { () throws(StorageError) in
                let insert = try file.prepare("INSERT OR REPLACE INTO listens VALUES (?1, ?2, ?3, ?4, ?5)")
                for entry in entries {
                    insert.bind(1, entry.listen.path.encoded)
                    insert.bind(2, entry.listen.query?.text ?? [])
                    insert.bind(3, entry.value.canonical.bytes)
                    insert.bind(4, entry.position)
                    insert.bind(5, time)
                    try insert.run()
                }
            }
        }
    }

    /// Drops the values that were saved longest ago.
    private func dropOldest(keeping bytesMax: Int) {
        run(
            """
            DELETE FROM listens WHERE rowid IN (
                SELECT rowid FROM (
                    SELECT rowid, sum(length(value)) OVER (ORDER BY used DESC, rowid) AS total FROM listens)
                WHERE total > ?1)
            """
        ) { $0.bind(1, Int64(bytesMax)) }
    }

    // MARK: SQLite

    /// Does something with the file. Nil after an error, and from then on.
    @discardableResult
    private func attempt<Result>(_ work: (SQLite.Connection) throws(StorageError) -> Result) -> Result? {
        if isBroken { return nil }
        do throws(StorageError) { return try work(file) } catch {
            isBroken = true
            return nil
        }
    }

    private func run(_ sql: String, _ bind: (Statement) -> Void) { _ = rows(sql, bind) { _ in } }

    private func rows<Row>(_ sql: String, _ bind: (Statement) -> Void = { _ in }, _ read: (Statement) -> Row) -> [Row] {
        let rows = attempt { (file) throws(StorageError) in
            let statement = try file.prepare(sql)
            bind(statement)
            var rows: [Row] = []
            while try statement.step() { rows.append(read(statement)) }
            return rows
        }
        return rows ?? []
    }
}
