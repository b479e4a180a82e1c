import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

/// The parts of large texts in a commit log.
///
/// ```
/// part(id INTEGER PRIMARY KEY, checksum INTEGER, data BLOB)      id: the batch, then the number in 20 bits
/// large(first INTEGER PRIMARY KEY, batch, offset, bytes)         which batch belongs into the body of a log row, where
/// ```
/// Parts are written before their record, each in a transaction of its own, so that no other commit waits for more than
/// one. The record's own transaction makes them count; a batch that no record names is removed some time. Used on the
/// thread of the log.
struct LogParts {
    private let connection: Connection
    private let insert: Statement
    private let refer: Statement
    /// The batch that is being written.
    private var open: UInt64?
    /// The next batch.
    private var next: UInt64
    /// Of the parts of ``open`` that were written, for the hash chain.
    private var digests: [[UInt8]] = []
    /// There may be parts that no record names.
    private(set) var hasStrays: Bool

    static let tables = """
        CREATE TABLE IF NOT EXISTS part (id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, data BLOB NOT NULL);
        CREATE TABLE IF NOT EXISTS large (
            first INTEGER PRIMARY KEY, batch INTEGER NOT NULL, offset INTEGER NOT NULL, bytes INTEGER NOT NULL);
        """

    private static let numberBits = 20

    init(_ connection: Connection) throws(StorageError) {
        self.connection = connection
        insert = try connection.prepare("INSERT INTO part VALUES (?1, ?2, ?3)")
        refer = try connection.prepare("INSERT INTO large VALUES (?1, ?2, ?3, ?4)")
        let last = try connection.integer("SELECT max(id) >> \(Self.numberBits) FROM part") ?? 0
        // A greater one is damaged: the ids of its parts would be no numbers.
        let named = try connection.integer("SELECT max(batch) FROM large WHERE batch < 1 << 43") ?? 0
        next = UInt64(max(last, named, 0)) + 1
        let strays = "SELECT 1 FROM part WHERE id >> \(Self.numberBits) NOT IN (SELECT batch FROM large)"
        hasStrays = try connection.integer("SELECT EXISTS (\(strays))") == 1
    }

    // MARK: Writing

    mutating func begin() -> UInt64 {
        if open != nil { hasStrays = true }
        defer { next += 1 }
        digests = []
        open = next
        return next
    }

    /// Answers the part's checksum.
    mutating func write(
        _ part: UnsafeRawBufferPointer, _ number: Int, of batch: UInt64
    ) throws(StorageError) -> UInt64 {
        let checksum = LogRecord.checksum(ofPart: part)
        try connection.transaction { () throws(StorageError) in
            insert.bind(1, Int64(batch) << Self.numberBits | Int64(number))
            insert.bind(2, Int64(bitPattern: checksum))
            insert.bind(3, bytes: part)
            try insert.run()
        }
        if batch == open { digests.append(LogChain.digest(of: part)) }
        return checksum
    }

    /// The digests of the parts of a record's text, in order; none for a record without.
    func digests(of record: LogRecord) throws(StorageError) -> [[UInt8]] {
        guard let (stored, _) = record.stored else { return [] }
        if stored.batch == open, digests.count == stored.checksums.count { return digests }
        return try Reader(connection).digests(ofBatch: Int64(stored.batch))
    }

    /// In the transaction of a record.
    func refer(_ record: LogRecord) throws(StorageError) {
        guard let (stored, offset) = record.stored else { return }
        let first = Int64(stored.batch) << Self.numberBits
        let count = try connection.integer(
            "SELECT count(*) FROM part WHERE id >= \(first) AND id < \(first + (1 << Self.numberBits))")
        guard count == Int64(stored.checksums.count) else { throw .damaged("a large text has gone from the log") }
        refer.bind(1, Int64(record.firstSequence))
        refer.bind(2, Int64(stored.batch))
        refer.bind(3, Int64(offset))
        refer.bind(4, Int64(stored.text.bytes.count))
        try refer.run()
    }

    /// The batch that was written has its record, or will not have one.
    mutating func end() {
        open = nil
        digests = []
        hasStrays = true
    }

    /// Removes some parts that no record names.
    mutating func removeStrays(partsMax: Int64 = 8) throws(StorageError) {
        guard hasStrays else { return }
        let delete = try connection.prepare(
            """
            DELETE FROM part WHERE id IN (
                SELECT id FROM part WHERE id >> \(Self.numberBits) NOT IN (SELECT batch FROM large)
                    AND id >> \(Self.numberBits) <> ?1 LIMIT ?2)
            """)
        delete.bind(1, Int64(open ?? 0))
        delete.bind(2, partsMax)
        try delete.run()
        if try connection.integer("SELECT changes()") ?? 0 < partsMax { hasStrays = false }
    }

    /// Removes all of them: nothing is being written.
    mutating func removeAllStrays() throws(StorageError) {
        hasStrays = true
        while hasStrays { try removeStrays() }
    }

    /// Records up to a number have gone.
    mutating func removeReferences(through first: Int64) throws(StorageError) {
        let delete = try connection.prepare("DELETE FROM large WHERE first <= ?1")
        delete.bind(1, first)
        try delete.run()
        if try connection.integer("SELECT changes()") ?? 0 > 0 { hasStrays = true }
    }

    // MARK: Reading

    /// Whether a file knows parts: older ones, and backups of them, do not.
    static func areKnown(in schema: String = "main", of connection: Connection) throws(StorageError) -> Bool {
        try connection.integer("SELECT count(*) FROM \(schema).sqlite_schema WHERE name = 'large'") != 0
    }

    /// Copies the parts of the log rows that are in the main file already.
    static func copy(from schema: String) -> String {
        """
        INSERT INTO main.large SELECT * FROM \(schema).large WHERE first IN (SELECT first FROM main.log);
        INSERT INTO main.part SELECT * FROM \(schema).part
            WHERE id >> \(numberBits) IN (SELECT batch FROM main.large);
        """
    }

    /// Copies the parts of a range of log rows, with greater batch numbers.
    static func copy(from schema: String, _ rows: ClosedRange<Int64>, addingToBatches count: Int64) -> String {
        let isMeant = "first BETWEEN \(rows.lowerBound) AND \(rows.upperBound)"
        return """
            INSERT INTO main.large SELECT first, batch + \(count), offset, bytes FROM \(schema).large WHERE \(isMeant);
            INSERT INTO main.part SELECT id + \(count << numberBits), checksum, data FROM \(schema).part
                WHERE id >> \(numberBits) IN (SELECT batch FROM \(schema).large WHERE \(isMeant));
            """
    }

    /// Puts texts into the bodies of the records that lack them.
    struct Reader {
        private let find: Statement
        private let select: Statement

        /// Nil where no record lacks anything, as the file is when it is next read.
        init?(ifNeededIn connection: Connection) throws(StorageError) {
            guard try LogParts.areKnown(of: connection),
                try connection.integer("SELECT EXISTS (SELECT 1 FROM large)") == 1
            else { return nil }
            try self.init(connection)
        }

        /// - parameter connection: of a file that knows parts.
        init(_ connection: Connection) throws(StorageError) {
            find = try connection.prepare("SELECT batch, offset, bytes FROM large WHERE first = ?1")
            select = try connection.prepare(
                "SELECT checksum, data FROM part WHERE id >= ?1 AND id < ?2 ORDER BY id")
        }

        /// The SHA-256 of each part, in order.
        func digests(ofBatch batch: Int64) throws(StorageError) -> [[UInt8]] {
            defer { select.reset() }
            select.bind(1, batch << numberBits)
            select.bind(2, (batch &+ 1) << numberBits)
            var digests: [[UInt8]] = []
            while try select.step() { digests.append(select.withBlob(1) { LogChain.digest(of: $0) }) }
            return digests
        }

        /// Where the text of the record with a number belongs into its body, and the digests of its parts; nil for a
        /// record without.
        func text(of first: UInt64) throws(StorageError) -> (offset: Int, digests: [[UInt8]])? {
            defer { find.reset() }
            find.bind(1, Int64(first))
            guard try find.step() else { return nil }
            let offset = Int(find.integer(1))
            guard offset >= 0 else { throw .damaged("log row \(first)") }
            return (offset, try digests(ofBatch: find.integer(0)))
        }

        /// Answers the checksum that the record must have. Throws if the text is damaged.
        func complete(_ record: inout LogRecord) throws(StorageError) -> UInt64 {
            let damage = StorageError.damaged("log row \(record.firstSequence)")
            defer { find.reset() }
            find.bind(1, Int64(record.firstSequence))
            guard try find.step() else { return record.checksum }
            let (batch, offset, byteCount) = (find.integer(0), Int(find.integer(1)), Int(find.integer(2)))
            guard (0...record.body.count).contains(offset) else { throw damage }
            defer { select.reset() }
            select.bind(1, batch << numberBits)
            select.bind(2, (batch &+ 1) << numberBits)
            var body = Array(record.body[..<offset])
            var checksums: [UInt64] = []
            while try select.step() {
                let checksum = UInt64(bitPattern: select.integer(0))
                let isWhole = select.withBlob(1) { part in
                    body += part
                    return LogRecord.checksum(ofPart: part) == checksum
                }
                guard isWhole else { throw damage }
                checksums.append(checksum)
            }
            guard body.count - offset == byteCount else { throw damage }
            let sum = record.checksum(ofParts: checksums, at: offset)
            body += record.body[offset...]
            record.body = body
            return sum
        }
    }
}
