import HearthBytes
import HearthJSONWebTokens
import HearthSQLite
import HearthStorageErrors

/// The accounts' file of a node that shares its accounts with others.
extension AccountFile {
    /// Has changes noted from now on, for ``rehearse(_:)``.
    static func prepareSharing(_ connection: Connection) throws(StorageError) {
        var text = """
            CREATE TABLE IF NOT EXISTS sharing (
                place INTEGER PRIMARY KEY CHECK (place = 0), sequence INTEGER NOT NULL, version INTEGER NOT NULL,
                author TEXT NOT NULL, epoch INTEGER NOT NULL DEFAULT 0);
            CREATE TEMP TABLE changed (name TEXT, a, b, c);
            CREATE TEMP TABLE replaced (realm, id, flags, validSince, PRIMARY KEY (realm, id)) WITHOUT ROWID;
            """
        for table in AccountTable.allCases {
            for (event, rows) in [("INSERT", ["new"]), ("DELETE", ["old"]), ("UPDATE", ["old", "new"])] {
                text += "CREATE TEMP TRIGGER \(table.rawValue)\(event) AFTER \(event) ON main.\(table.rawValue) BEGIN "
                for row in rows {
                    let key = table.keyColumns.map { "\(row).\($0)" } + ["NULL", "NULL"]
                    text +=
                        "INSERT INTO changed VALUES ('\(table.rawValue)', \(key.prefix(3).joined(separator: ", ")));"
                }
                text += "END;"
            }
        }
        try connection.execute(text)
        // Earlier versions did not know of histories.
        let hasEpoch = "SELECT count(*) FROM pragma_table_info('sharing') WHERE name = 'epoch'"
        if try connection.integer(hasEpoch) == 0 {
            try connection.execute("ALTER TABLE sharing ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0")
        }
    }

    /// A server that is alone changes accounts without telling anybody, so it forgets how far others were.
    static func endSharing(_ connection: Connection) throws(StorageError) {
        try connection.execute("DROP TABLE IF EXISTS sharing")
    }

    var path: String { connection.path }

    /// How far the shared accounts in the file are; nil if they never were shared.
    func place() throws(StorageError) -> SharedCommit.Place? {
        let select = try connection.prepare("SELECT sequence, version, author, epoch FROM sharing")
        guard try select.step() else { return nil }
        var place = SharedCommit.Place()
        place.sequence = UInt64(bitPattern: select.integer(0))
        place.version = select.integer(1)
        place.author = select.text(2)
        place.epoch = UInt64(bitPattern: select.integer(3))
        return place
    }

    /// The rows of the file count as if they had never been shared.
    func forgetPlace() throws(StorageError) { try connection.execute("DELETE FROM sharing") }

    func hasRows() throws(StorageError) -> Bool {
        for table in AccountTable.allCases {
            if try connection.integer("SELECT EXISTS (SELECT 1 FROM \(table.rawValue))") == 1 { return true }
        }
        return false
    }

    // MARK: Proposing

    /// Runs `body` in a transaction, and undoes all of it.
    ///
    /// - returns: the rows that it has changed, as it has left them.
    func rehearse(_ body: () -> Void) throws(StorageError) -> [SharedRow] {
        do throws(StorageError) {
            try verify()
            defer { forgetRevocations() }
            return try connection.rehearsal { () throws(StorageError) in
                body()
                return try changedRows()
            }
        } catch {
            note(error)
            throw error
        }
    }

    private func changedRows() throws(StorageError) -> [SharedRow] {
        let select = try connection.prepare("SELECT DISTINCT name, a, b, c FROM changed")
        var rows: [SharedRow] = []
        while try select.step() {
            guard let table = AccountTable(rawValue: select.text(0)) else { continue }
            let key = table.keyColumns.enumerated().map { index, column in
                Self.value(of: select, Int32(index) + 1, column)
            }
            rows.append(table.shared(key, try columns(of: table, key)))
        }
        if let long = rows.first(where: \.hasLongKey) { throw Self.longKey(long) }
        return rows
    }

    static func longKey(_ row: SharedRow) -> StorageError {
        .overloaded("a name in \(row.table) is too long for accounts that are shared")
    }

    private func columns(of table: AccountTable, _ key: [SharedValue]) throws(StorageError) -> [SharedValue]? {
        let select = try shared(
            "SELECT \(table.columns.joined(separator: ", ")) FROM \(table.rawValue) WHERE", table, key)
        defer { select.reset() }
        guard try select.step() else { return nil }
        return Self.values(of: select, table)
    }

    /// All rows, piece by piece.
    func forEachPiece(
        byteCount: Int, _ body: ([SharedRow]) throws(StorageError) -> Void
    ) throws(StorageError) {
        var piece: [SharedRow] = []
        var bytes = 0
        for table in AccountTable.allCases {
            let select = try connection.prepare(
                "SELECT \(table.columns.joined(separator: ", ")), \(table.isIntact) FROM \(table.rawValue)")
            while try select.step() {
                guard select.integer(select.columnCount - 1) == 1 else {
                    throw .damaged("a row of \(table.rawValue) in \(connection.path)")
                }
                let values = Self.values(of: select, table)
                let key = table.keyColumns.map { values[table.columns.firstIndex(of: $0)!] }
                piece.append(table.shared(key, values))
                bytes += piece.last!.byteCount
                if bytes < byteCount { continue }
                try body(piece)
                (piece, bytes) = ([], 0)
            }
        }
        if !piece.isEmpty { try body(piece) }
    }

    private static func values(of row: Statement, _ table: AccountTable) -> [SharedValue] {
        table.columns.enumerated().map { index, column in value(of: row, Int32(index), column) }
    }

    private static func value(of row: Statement, _ index: Int32, _ column: String) -> SharedValue {
        if row.isNull(index) { return .null }
        if AccountTable.isBinary(column) { return .blob(row.blob(index)) }
        return row.isInteger(index) ? .integer(row.integer(index)) : .text(row.blob(index))
    }

    // MARK: Taking

    /// Takes commits into the file, in one transaction.
    ///
    /// - parameter body: calls its argument with each of them and its sequence number; answers the sequence number up
    ///   to which there are no others, and its history; nil if that is not known.
    /// - returns: the place after them, and the revocations that they make.
    func take(
        after place: SharedCommit.Place,
        _ body: ((SharedCommit, UInt64) throws(StorageError) -> Void) throws(StorageError) -> (
            sequence: UInt64, epoch: UInt64
        )?
    ) throws(StorageError) -> (place: SharedCommit.Place, revocations: [Revocation])? {
        var (place, revocations): (SharedCommit.Place, [Revocation]) = (place, [])
        var isReached = false
        try verify()
        try connection.transaction { () throws(StorageError) in
            let end = try body { (commit, sequence) throws(StorageError) in
                revocations += try take(commit.rows)
                (place.version, place.author, place.sequence) = (commit.version, commit.author, sequence)
            }
            guard let end else { return }
            isReached = true
            place.sequence = max(place.sequence, end.sequence)
            place.epoch = end.epoch
            try set(place)
        }
        return isReached ? (place, revocations) : nil
    }

    /// Takes rows of a state of the accounts, in one transaction.
    func takePiece(_ rows: [SharedRow]) throws(StorageError) {
        try connection.transaction { () throws(StorageError) in _ = try take(rows) }
    }

    func setPlace(_ place: SharedCommit.Place) throws(StorageError) {
        try connection.transaction { () throws(StorageError) in try set(place) }
    }

    func set(_ place: SharedCommit.Place) throws(StorageError) {
        let insert = try connection.prepare("INSERT OR REPLACE INTO sharing VALUES (0, ?, ?, ?, ?)")
        insert.bind(1, Int64(bitPattern: place.sequence))
        insert.bind(2, place.version)
        insert.bind(3, place.author)
        insert.bind(4, Int64(bitPattern: place.epoch))
        try insert.run()
    }

    private func take(_ rows: [SharedRow]) throws(StorageError) -> [Revocation] {
        let rows = try rows.map { (row) throws(StorageError) in
            guard let table = AccountTable(row), let key = table.key(of: row) else { throw Self.unknownRow }
            let columns = try row.columns.map { (text) throws(StorageError) in
                guard let values = AccountTable.values(text, of: table.columns) else { throw Self.unknownRow }
                return values
            }
            return (table: table, key: key, columns: columns)
        }
        var revocations: [Revocation] = []
        for row in rows where row.table == .users {
            let before = try columns(of: .users, row.key)
            guard case .text(let realm) = row.key[0], case .text(let user) = row.key[1] else { continue }
            revocations += Self.revocation(
                of: String(decoding: user, as: UTF8.self), in: Realm(key: String(decoding: realm, as: UTF8.self)),
                before, row.columns)
        }
        // Rows may exchange unique values, so all go before the first comes.
        for row in rows { try shared("DELETE FROM \(row.table.rawValue) WHERE", row.table, row.key).run() }
        for row in rows {
            guard let columns = row.columns else { continue }
            let insert = try preparedOnce(row.table.insertion)
            Self.bind(columns, to: insert)
            try insert.run()
        }
        try connection.execute("DELETE FROM changed")
        return revocations
    }

    private static let unknownRow = StorageError.damaged("a row of the shared accounts is of an unknown form")

    /// The revocation when a row replaces another.
    private static func revocation(
        of user: String, in realm: Realm, _ before: [SharedValue]?, _ after: [SharedValue]?
    ) -> [Revocation] {
        func standing(_ row: [SharedValue]) -> Standing {
            func integer(_ column: String) -> Int64 {
                guard let index = AccountTable.users.columns.firstIndex(of: column),
                    case .integer(let value) = row[index]
                else { return 0 }
                return value
            }
            return Standing(flags: integer("flags"), validSince: integer("validSince"))
        }
        guard let before else { return [] }
        return revocation(of: user, in: realm, standing(before), after.map(standing))
    }

    /// A statement about the row of a key. To be reset.
    private func shared(_ start: String, _ table: AccountTable, _ key: [SharedValue]) throws(StorageError) -> Statement
    {
        let conditions = table.keyColumns.enumerated().map { "\($1) = ?\($0 + 1)" }
        let statement = try preparedOnce("\(start) \(conditions.joined(separator: " AND "))")
        Self.bind(key, to: statement)
        return statement
    }

    private static func bind(_ values: [SharedValue], to statement: Statement) {
        for (index, value) in values.enumerated() {
            let index = Int32(index) + 1
            switch value {
            case .null: statement.bindNull(index)
            case .integer(let value): statement.bind(index, value)
            case .text(let text): statement.bind(index, String(decoding: text, as: UTF8.self))
            case .blob(let bytes): statement.bind(index, bytes)
            }
        }
    }
}
