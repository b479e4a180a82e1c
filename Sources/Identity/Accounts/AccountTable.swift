import HearthSQLite
import HearthStorageErrors

/// A table of accounts. Each row has a checksum of its other columns in `checksum`, so that damaged data is not
/// mistaken for an account.
enum AccountTable: String, CaseIterable {
    case users, links, refreshTokens, codes

    /// All columns but the checksum.
    var columns: [String] {
        switch self {
        case .users:
            [
                "realm", "id", "email", "password", "passwordUpdatedAt", "displayName", "photoURL", "phone", "flags",
                "claims", "validSince", "createdAt", "lastLoginAt", "lastRefreshAt", "initialEmail",
            ]
        case .links: ["realm", "provider", "rawID", "user", "place", "email", "displayName", "photoURL"]
        case .refreshTokens: ["hash", "realm", "user", "provider", "claims", "issuedAt", "authenticatedAt"]
        case .codes: ["hash", "realm", "kind", "user", "email", "newEmail", "expiresAt"]
        }
    }

    /// A term that names a row without telling a secret.
    private var rowName: String {
        switch self {
        case .users: "realm || ' ' || id"
        case .links: "realm || ' ' || provider || ' ' || rawID"
        case .refreshTokens, .codes: "'of ' || realm || ' ' || coalesce(user, '')"
        }
    }

    /// A term for the checksum of a row in which some columns have other values.
    func checksum(with changes: [String: String] = [:]) -> String {
        "row_checksum(\(columns.map { changes[$0] ?? $0 }.joined(separator: ", ")))"
    }

    /// A condition: the row is as it was written.
    var isIntact: String { "checksum IS \(checksum())" }

    /// A statement that adds a row, with a parameter for each column.
    var insertion: String {
        let parameters = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        return """
            INSERT INTO \(rawValue) (\(columns.joined(separator: ", ")), checksum) VALUES (\(parameters), row_checksum(\(parameters)))
            """
    }

    /// Rows that are damaged, by name.
    func damagedRows(in connection: Connection, max: Int) throws(StorageError) -> [String] {
        let select = try connection.prepare("SELECT \(rowName) FROM \(rawValue) WHERE NOT (\(isIntact)) LIMIT \(max)")
        var names: [String] = []
        while try select.step() { names.append("\(rawValue): the row \(select.text(0)) is damaged") }
        return names
    }

    /// Gives checksums to the rows of a file that was made without them.
    func addChecksums(in connection: Connection) throws(StorageError) {
        let isThere = try hasChecksums(in: connection)
        if isThere { return }
        try connection.transaction { () throws(StorageError) in
            try connection.execute(
                """
                ALTER TABLE \(rawValue) ADD COLUMN checksum INTEGER;
                UPDATE \(rawValue) SET checksum = \(checksum())
                """)
        }
    }

    func hasChecksums(in connection: Connection) throws(StorageError) -> Bool {
        try connection.integer("SELECT count(*) FROM pragma_table_info('\(rawValue)') WHERE name = 'checksum'") == 1
    }
}
