#if Persistence
    import HearthJSONTree
    import HearthSQLite
    import HearthStorageErrors
    import HearthWireProtocol
    import HearthClientSession

    /// The SQLite file that keeps a client's values and its pending writes. Open in one process at a time, used by one
    /// thread.
    ///
    /// The data survives the end of the process. After a power loss the last seconds may be missing. Data that cannot
    /// be written, such as on a full disk, is not kept; the client continues without it.
    final class CacheFile: ValueCache {
        private let file: HearthSQLite.Connection
        private let bytesMax: Int
        /// Answered writes that could not be removed yet. Repeated by the next process, they would undo later changes,
        /// so each write to the file tries again to remove them.
        private var answered: Set<Int> = []
        /// Bytes of values that were saved since old ones were dropped.
        private var savedBytes = 0

        /// Opens a file, or creates one that only its owner may read.
        ///
        /// - parameter database: identifies the database of the values. The file of another one is refused.
        init(path: String, database: String, bytesMax: Int) throws(DatabaseError) {
            self.bytesMax = bytesMax
            let owner: String
            do throws(StorageError) {
                file = try HearthSQLite.Connection(path: path, mode: .readWrite)
                owner = try Self.setUp(file, for: database)
            } catch {
                let text = "\(path) cannot be used: \(error.message)"
                switch error {
                case .busy: throw .cacheInUse(text)
                case .damaged: throw .cacheDamaged(text)
                default: throw .cache(text)
                }
            }
            if owner != database { throw .cache("\(path) holds values of \(owner)") }
            dropOldest()
        }

        /// Creates the tables of a new file, and answers which database the file belongs to.
        private static func setUp(_ file: HearthSQLite.Connection, for database: String) throws(StorageError) -> String
        {
            // A closed database may still be saving.
            try file.execute(
                """
                PRAGMA busy_timeout=2000; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;
                PRAGMA synchronous=NORMAL;
                """)
            var owner = database
            try file.transaction { () throws(StorageError) in
                // Values are only copies, so those of another version are dropped.
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

        /// The pending writes, in order, with their numbers. Unreadable ones are removed.
        func writes() -> [(number: Int, request: ClientRequest)] {
            let rows = rows("SELECT number, message FROM writes ORDER BY number") { row in
                (Int(row.integer(0)), row.blob(1))
            }
            return (rows ?? []).compactMap { number, message in
                guard Self.numbers.contains(number), let request = message.withUnsafeBytes(ClientRequest.init(write:))
                else {
                    removeWrite(number)
                    return nil
                }
                return (number, request)
            }
        }

        /// More than any process reaches.
        private static let numbers = 1..<(1 << 53)

        func add(_ number: Int, _ request: ClientRequest) {
            removeAnswered()
            var message: [UInt8] = []
            ClientMessageWriter.append(request, number: Int64(number), to: &message)
            run("INSERT OR REPLACE INTO writes VALUES (?1, ?2)") {
                $0.bind(1, Int64(number))
                $0.bind(2, message)
            }
        }

        func removeWrite(_ number: Int) {
            answered.insert(number)
            removeAnswered()
        }

        private func removeAnswered() {
            for number in answered {
                guard run("DELETE FROM writes WHERE number = ?1", { $0.bind(1, Int64(number)) }) else { return }
                answered.remove(number)
            }
        }

        // MARK: Values

        /// The last saved value of a listen: its own, or its part of the value of a place above, with the parts that
        /// were saved later.
        func value(of listen: ServerListen) -> SavedValue? {
            if let query = listen.query {
                if let own = value(at: listen.path, query.text) { return own }
                return wholeValue(at: listen.path).map { (query.query.select(from: $0.value), []) }
            }
            return wholeValue(at: listen.path)
        }

        private func wholeValue(at path: Path) -> SavedValue? {
            var holder: Path? = path
            while let place = holder {
                if let saved = value(at: place, []), let relative = path.suffix(after: place) {
                    return withParts((saved.value.value(at: relative), saved.position), of: path)
                }
                holder = place.parent
            }
            return nil
        }

        /// Parts are newer than the whole, and deeper ones than those above them: saving a value drops those of its
        /// parts.
        private func withParts(_ saved: SavedValue, of path: Path) -> SavedValue {
            let parts = rows(
                "SELECT path, value, position FROM listens WHERE path > ?1 AND path < ?2 AND query = x'' ORDER BY path"
            ) {
                $0.bind(1, path.encoded)
                $0.bind(2, path.subtreeEnd)
            } _: {
                (Path(encoded: $0.blob(0)), $0.blob(1), $0.blob(2))
            }
            return (parts ?? []).reduce(saved) { saved, part in
                guard let relative = part.0.suffix(after: path), let text = try? CanonicalJSON.parse(part.1).value
                else {
                    return saved
                }
                // Parts from different times may never have existed together.
                return (saved.value.setting(Node(text), at: relative), saved.position == part.2 ? saved.position : [])
            }
        }

        /// `query` is empty for the whole value.
        private func value(at path: Path, _ query: [UInt8]) -> SavedValue? {
            let found = rows("SELECT value, position FROM listens WHERE path = ?1 AND query = ?2") {
                $0.bind(1, path.encoded)
                $0.bind(2, query)
            } _: {
                ($0.blob(0), $0.blob(1))
            }
            guard let (text, position) = found?.first, let value = try? CanonicalJSON.parse(text).value else {
                return nil
            }
            return (Node(value), position)
        }

        /// Saves the values of listens, all or none. One that is larger than `bytesMax` would drive out all others.
        ///
        /// - parameter listens: the listens whose values are kept longest if there are too many.
        func save(_ entries: [CachedValue], at time: Int64, whileInUse listens: @autoclosure () -> [ServerListen]) {
            removeAnswered()
            if entries.isEmpty { return }
            attempt { (file) throws(StorageError) in
                try file.transaction { () throws(StorageError) in
                    // The whole value of a place is newer than the values of its parts and queries.
                    let drop = try file.prepare(
                        "DELETE FROM listens WHERE path >= ?1 AND path < ?2 AND (path != ?1 OR query != x'')")
                    for entry in entries where entry.listen.query == nil {
                        drop.bind(1, entry.listen.path.encoded)
                        drop.bind(2, entry.listen.path.subtreeEnd)
                        try drop.run()
                    }
                    let insert = try file.prepare("INSERT OR REPLACE INTO listens VALUES (?1, ?2, ?3, ?4, ?5)")
                    let remove = try file.prepare("DELETE FROM listens WHERE path = ?1 AND query = ?2")
                    for entry in entries {
                        let value = entry.value.canonical.bytes
                        guard value.count <= bytesMax else {
                            remove.bind(1, entry.listen.path.encoded)
                            remove.bind(2, entry.listen.query?.text ?? [])
                            try remove.run()
                            continue
                        }
                        savedBytes += value.count
                        insert.bind(1, entry.listen.path.encoded)
                        insert.bind(2, entry.listen.query?.text ?? [])
                        insert.bind(3, value)
                        insert.bind(4, entry.position)
                        insert.bind(5, time)
                        try insert.run()
                    }
                }
            }
            guard savedBytes > bytesMax else { return }
            savedBytes = 0
            for listen in listens() {
                run("UPDATE listens SET used = ?3 WHERE path = ?1 AND query = ?2") {
                    $0.bind(1, listen.path.encoded)
                    $0.bind(2, listen.query?.text ?? [])
                    $0.bind(3, time)
                }
            }
            dropOldest()
        }

        /// Drops the least recently used values.
        private func dropOldest() {
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

        /// Runs a statement on the file. Nil after an error.
        @discardableResult
        private func attempt<Result>(_ work: (HearthSQLite.Connection) throws(StorageError) -> Result) -> Result? {
            do throws(StorageError) { return try work(file) } catch { return nil }
        }

        /// False after an error.
        @discardableResult
        private func run(_ sql: String, _ bind: (Statement) -> Void) -> Bool { rows(sql, bind) { _ in } != nil }

        private func rows<Row>(
            _ sql: String, _ bind: (Statement) -> Void = { _ in }, _ read: (Statement) -> Row
        ) -> [Row]? {
            attempt { (file) throws(StorageError) in
                let statement = try file.prepare(sql)
                bind(statement)
                var rows: [Row] = []
                while try statement.step() { rows.append(read(statement)) }
                return rows
            }
        }
    }
#endif
