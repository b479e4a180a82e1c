import HearthBytes
import HearthJSONValues

/// A row of the accounts as the nodes of a cluster tell it to each other: all of it, or that it is gone. Whole rows,
/// and not statements or changes: two users who exchange their addresses in one commit are two rows.
package struct SharedRow: Hashable, Sendable {
    /// The name of an ``AccountTable``.
    package let table: String
    /// Names the row in its table: URL-safe Base64, at most ``keyByteCountMax`` bytes.
    package let key: [UInt8]
    /// The text of a JSON array with a value for each of the table's columns; nil for a row that is gone.
    package let columns: [UInt8]?

    /// The names of all tables.
    package static var tables: [String] { AccountTable.allCases.map(\.rawValue) }

    /// Keys of the tree have at most 768 bytes.
    package static let keyByteCountMax = 700

    package init(table: String, key: [UInt8], columns: [UInt8]?) {
        self.table = table
        self.key = key
        self.columns = columns
    }

    var hasLongKey: Bool { key.count > Self.keyByteCountMax }

    var byteCount: Int { key.count + (columns?.count ?? 0) }
}

/// A value of a column.
enum SharedValue: Hashable {
    case null
    case integer(Int64)
    case text([UInt8])
    case blob([UInt8])

    init?(_ json: JSONValue, in column: String) {
        switch json {
        case .null: self = .null
        case .integer(let value): self = .integer(value)
        case .string(let text) where AccountTable.isBinary(column):
            guard let bytes = Base64.url.decode(text) else { return nil }
            self = .blob(bytes)
        case .string(let text): self = .text(text)
        default: return nil
        }
    }

    var json: JSONValue {
        switch self {
        case .null: .null
        case .integer(let value): .integer(value)
        case .text(let text): .string(text)
        case .blob(let bytes): .string(Base64.url.encode(bytes))
        }
    }
}

extension AccountTable {
    /// The columns that name a row: the table's primary key.
    var keyColumns: [String] {
        switch self {
        case .users: ["realm", "id"]
        case .links: ["realm", "provider", "rawID"]
        case .refreshTokens, .codes: ["hash"]
        }
    }

    static func isBinary(_ column: String) -> Bool { column == "hash" }

    func shared(_ key: [SharedValue], _ columns: [SharedValue]?) -> SharedRow {
        SharedRow(table: rawValue, key: Base64.url.encode(Self.text(key)), columns: columns.map(Self.text))
    }

    /// Whether a row with this key could be shared. Others are refused everywhere, so that any server can become the
    /// first node of a cluster.
    func isShareable(_ key: [String]) -> Bool { !shared(key.map { .text(Array($0.utf8)) }, nil).hasLongKey }

    private static func text(_ values: [SharedValue]) -> [UInt8] { JSONValue.array(values.map(\.json)).bytes }

    /// Nil if the row is not one of this version's.
    init?(_ row: SharedRow) {
        guard let table = AccountTable(rawValue: row.table) else { return nil }
        self = table
    }

    func key(of row: SharedRow) -> [SharedValue]? {
        Base64.url.decode(row.key).flatMap { Self.values($0, of: keyColumns) }
    }

    static func values(_ text: [UInt8], of columns: [String]) -> [SharedValue]? {
        guard let array = (try? JSONValue(parsing: text))?.array, array.count == columns.count else { return nil }
        let values = zip(array, columns).compactMap { SharedValue($0, in: $1) }
        return values.count == columns.count ? values : nil
    }
}
