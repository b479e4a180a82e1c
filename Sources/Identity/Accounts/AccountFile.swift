import Glibc
import HearthServerFiles
import HearthStorageErrors
import HearthSQLite

/// The accounts of all realms, in one SQLite file. Who calls sees to transactions; one thread at a time uses it.
///
/// ```
/// users(realm, id, …)             one row per account; e-mail addresses and telephone numbers are unique in a realm
/// links(realm, provider, rawID, user, …)
/// refreshTokens(hash, realm, user, …)     SHA-256 of the token: it cannot be read from here
/// codes(hash, realm, …)                   one-time codes, likewise
/// ```
///
/// Each row has a checksum (``AccountTable``), which is compared whenever it is read.
final class AccountFile: @unchecked Sendable {
    // Safe because: one thread at a time uses it. The thread that opens it hands it to its own thread.

    let connection: Connection
    private var statements: [String: Statement] = [:]
    /// The files, as they were opened.
    private let identities: [FileIdentity]
    /// The last error since it was asked for.
    private var failure: StorageError?
    /// The revocations of the present transaction.
    private(set) var revocations: [Revocation] = []

    /// - parameter survivesPowerLoss: a commit waits for the disk.
    /// - parameter isShared: several nodes have the same accounts (AccountFile+Sharing.swift).
    init(path: String, survivesPowerLoss: Bool, isShared: Bool = false) throws(StorageError) {
        connection = try Connection(path: path, mode: .readWrite)
        try connection.execute(
            "PRAGMA journal_mode = wal; PRAGMA synchronous = \(survivesPowerLoss ? "full" : "normal")")
        try connection.addRowChecksum()
        try Self.prepare(connection)
        if isShared { try Self.prepareSharing(connection) } else { try Self.endSharing(connection) }
        identities = [path, path + "-wal"].compactMap(FileIdentity.init)
    }

    /// The last error of storage since the last call.
    func takeFailure() -> StorageError? {
        defer { failure = nil }
        return failure
    }

    /// Finds out whether the disk takes commits, by changes that leave nothing. In a transaction.
    func probe() {
        do throws(StorageError) {
            try connection.execute(
                "CREATE TABLE probe (bytes); INSERT INTO probe VALUES (randomblob(16384)); DROP TABLE probe")
        } catch {
            failure = error
        }
    }

    /// The version of the file's format. Files without one are 0; the oldest of them have no checksums.
    static let version: Int64 = 1

    /// Creates the tables of a new file, and migrates a file of an earlier version. After a crash it continues where it
    /// was.
    private static func prepare(_ connection: Connection) throws(StorageError) {
        if try connection.formatVersion(upTo: version) == version { return }
        try connection.execute(schema)
        for table in AccountTable.allCases { try table.addChecksums(in: connection) }
        try connection.setFormatVersion(version)
    }

    private static let schema = """
        CREATE TABLE IF NOT EXISTS users (
            realm TEXT NOT NULL, id TEXT NOT NULL, email TEXT, password TEXT, passwordUpdatedAt INTEGER, displayName TEXT,
            photoURL TEXT, phone TEXT, flags INTEGER NOT NULL, claims TEXT, validSince INTEGER NOT NULL,
            createdAt INTEGER NOT NULL, lastLoginAt INTEGER, lastRefreshAt INTEGER, initialEmail TEXT, checksum INTEGER,
            PRIMARY KEY (realm, id)) WITHOUT ROWID;
        CREATE UNIQUE INDEX IF NOT EXISTS usersByEmail ON users (realm, email) WHERE email IS NOT NULL;
        CREATE UNIQUE INDEX IF NOT EXISTS usersByPhone ON users (realm, phone) WHERE phone IS NOT NULL;
        CREATE TABLE IF NOT EXISTS links (
            realm TEXT NOT NULL, provider TEXT NOT NULL, rawID TEXT NOT NULL, user TEXT NOT NULL, place INTEGER NOT NULL,
            email TEXT, displayName TEXT, photoURL TEXT, checksum INTEGER,
            PRIMARY KEY (realm, provider, rawID)) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS linksByUser ON links (realm, user);
        CREATE TABLE IF NOT EXISTS refreshTokens (
            hash BLOB PRIMARY KEY, realm TEXT NOT NULL, user TEXT NOT NULL, provider TEXT NOT NULL, claims TEXT,
            issuedAt INTEGER NOT NULL, authenticatedAt INTEGER NOT NULL, checksum INTEGER) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS refreshTokensByUser ON refreshTokens (realm, user, issuedAt);
        CREATE TABLE IF NOT EXISTS codes (
            hash BLOB PRIMARY KEY, realm TEXT NOT NULL, kind TEXT NOT NULL, user TEXT, email TEXT NOT NULL, newEmail TEXT,
            expiresAt INTEGER NOT NULL, checksum INTEGER) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS codesByEnd ON codes (expiresAt);
        CREATE INDEX IF NOT EXISTS codesByUser ON codes (realm, user);
        CREATE INDEX IF NOT EXISTS codesByEmail ON codes (realm, email);
        """

    // MARK: Transactions

    /// Runs `body` in one transaction. Answers the revocations that it made.
    func transaction(_ body: () -> Void) throws(StorageError) -> [Revocation] {
        revocations = []
        do throws(StorageError) {
            try verify()
            try connection.transaction { () throws(StorageError) in body() }
        } catch {
            failure = error
            throw error
        }
        return revocations
    }

    /// Forgets the revocations of the last transaction.
    func forgetRevocations() { revocations = [] }

    /// Throws if the file is not the one that was opened.
    func verify() throws(StorageError) { for identity in identities { try identity.verify() } }

    func note(_ error: StorageError) { failure = error }

    /// Runs a part of a transaction, which is undone alone when it throws.
    func part<Outcome>(_ body: () throws(AccountFailure) -> Outcome) throws(AccountFailure) -> Outcome {
        // After some failures of an earlier part, such as a full disk, SQLite has undone the transaction. This part
        // would be one of its own, and stay although it is refused.
        guard connection.isInTransaction else { throw failed(.inputOutput("a transaction has ended by itself")) }
        let count = revocations.count
        do throws(AccountFailure) {
            return try connection.savepoint(body)
        } catch {
            revocations.removeSubrange(count...)
            throw error
        }
    }

    private func failed(_ error: StorageError) -> AccountFailure {
        failure = error
        return .storage(error)
    }

    func note(_ revocation: Revocation) { revocations.append(revocation) }

    /// A statement that is prepared once.
    func preparedOnce(_ sql: String) throws(StorageError) -> Statement {
        if let known = statements[sql] { return known }
        let statement = try connection.prepare(sql)
        statements[sql] = statement
        return statement
    }

    /// A statement that is prepared once, with its parameters.
    private func statement(_ sql: String, _ parameters: [Parameter]) throws(StorageError) -> Statement {
        let statement = try preparedOnce(sql)
        for (index, parameter) in parameters.enumerated() {
            let index = Int32(index) + 1
            switch parameter {
            case .text(let value): statement.bind(index, value)
            case .integer(let value): statement.bind(index, value)
            case .blob(let value): statement.bind(index, value)
            }
        }
        return statement
    }

    enum Parameter {
        case text(String?)
        case integer(Int64?)
        case blob([UInt8])
    }

    func run(_ sql: String, _ parameters: [Parameter]) throws(AccountFailure) {
        do throws(StorageError) { try statement(sql, parameters).run() } catch { throw failed(error) }
    }

    func integer(_ sql: String, _ parameters: [Parameter]) throws(AccountFailure) -> Int64? {
        do throws(StorageError) { return try statement(sql, parameters).firstInteger() } catch { throw failed(error) }
    }

    /// The rows of a table that meet a condition, all of them read before anything else is done. Throws if one of them
    /// is not as it was written.
    func rows<Row>(
        of table: AccountTable, _ columns: String, where condition: String, _ parameters: [Parameter],
        _ read: (Statement) -> Row
    ) throws(AccountFailure) -> [Row] {
        let sql = "SELECT \(columns), \(table.isIntact) FROM \(table.rawValue) WHERE \(condition)"
        var isIntact = true
        let rows = try rows(sql, parameters) { row in
            isIntact = isIntact && row.integer(row.columnCount - 1) == 1
            return read(row)
        }
        guard isIntact else { throw failed(.damaged("a row of \(table.rawValue) in \(connection.path)")) }
        return rows
    }

    /// The rows of a selection, all of them read before anything else is done.
    func rows<Row>(
        _ sql: String, _ parameters: [Parameter], _ read: (Statement) -> Row
    ) throws(AccountFailure) -> [Row] {
        do throws(StorageError) {
            let statement = try statement(sql, parameters)
            defer { statement.reset() }
            var rows: [Row] = []
            while try statement.step() { rows.append(read(statement)) }
            return rows
        } catch { throw failed(error) }
    }
}
