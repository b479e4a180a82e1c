#if Persistence
    import HearthJSONTree
    import HearthSQLite
    import HearthStorageErrors
    import HearthWireProtocol
    import HearthClientSession

    /// What a client keeps on disk: the values that it was told, and its writes that the server has not answered. A
    /// SQLite file, open in one process at a time, used by one thread.
    ///
    /// What is written survives the end of the process. After a power loss the last seconds may be missing. What cannot
    /// be written, because the disk is full, is not kept; the client goes on without it.
    final class CacheFile: ValueCache {
        private let file: HearthSQLite.Connection
        private let bytesMax: Int
        /// Writes that were answered and are still there: made again by the next process, they would undo what came
        /// after them. Tried again with everything that is written.
        private var answered: Set<Int> = []
        /// Bytes of values that were saved since old ones were dropped.
        private var savedBytes = 0

        /// Opens a file, or makes one that only its owner may read.
        ///
        /// - parameter database: whose values these are. A file of another database is refused.
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

        /// Makes the tables of a new file, and answers whose file it is.
        private static func setUp(_ file: HearthSQLite.Connection, for database: String) throws(StorageError) -> String
        {
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

        /// The writes that were not answered, in order, with their numbers. Those that cannot be read are removed.
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

        /// More than any process gets to.
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

        /// What a listen had when it was saved last: its own value, or its part of the whole value of a place above,
        /// with the parts that were saved later.
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
                // Parts of different times are no value of any.
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

        /// Saves what listens have, all or none.
        ///
        /// - parameter listens: whose values are kept longest if there are too many.
        func save(_ entries: [CachedValue], at time: Int64, whileInUse listens: @autoclosure () -> [ServerListen]) {
            removeAnswered()
            if entries.isEmpty { return }
            attempt { (file) throws(StorageError) in
                try file.transaction { () throws(StorageError) in
                    // What a whole place has is newer than what its parts and queries had.
                    let drop = try file.prepare(
                        "DELETE FROM listens WHERE path >= ?1 AND path < ?2 AND (path != ?1 OR query != x'')")
                    for entry in entries where entry.listen.query == nil {
                        drop.bind(1, entry.listen.path.encoded)
                        drop.bind(2, entry.listen.path.subtreeEnd)
                        try drop.run()
                    }
                    let insert = try file.prepare("INSERT OR REPLACE INTO listens VALUES (?1, ?2, ?3, ?4, ?5)")
                    for entry in entries {
                        let value = entry.value.canonical.bytes
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

        /// Drops the values that were used longest ago.
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

        /// Does something with the file. Nil after an error.
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
