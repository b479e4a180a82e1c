import HearthJSONWebTokens
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

/// The hash chain over the records of a commit log: each head depends on everything before it.
///
/// ```
/// content(n) = SHA-256(salt ‖ first ‖ count ‖ time ‖ offset ‖ parts ‖ SHA-256 of each part ‖ body)
/// head(n)    = SHA-256(head(n - 1) ‖ content(n))
/// chain      = head salt            the column of a record, 32 and 16 bytes
///            | head content         32 and 32 bytes: of a record from which something was erased
/// edge       = last head            in `meta`: the last operation before the chain, 8 bytes, and the head there
/// ```
/// Numbers have 8 bytes, little-endian. `offset` is where the text in parts (``LogParts``) belongs into the body, 0
/// without one; `parts` is the number of its parts. The salt is random, so that erased content cannot be guessed from
/// its digest. The first head is random too. Each file has a chain of its own: nodes of a cluster, which have the same
/// records, have different ones. Records that a release without chains wrote, or that a backup brought, have none; the
/// edge is at their end. When records are removed at the beginning, the edge moves after them.
struct LogChain {
    private(set) var head: [UInt8]
    private let digest = RunningDigest()
    /// Random bytes for the next salts: asking for them once per record would cost more than the hashing.
    private var salts: ArraySlice<UInt8> = []

    static let headBytes = 32
    private static let saltBytes = 16

    /// Continues at the end of a log.
    init(in connection: Connection) throws(StorageError) {
        let select = try connection.prepare("SELECT chain FROM log ORDER BY first DESC LIMIT 1")
        if try select.step(), select.blob(0).count >= Self.headBytes {
            head = Array(select.blob(0).prefix(Self.headBytes))
        } else {
            head = try Self.edge(in: connection)?.head ?? Array(repeating: 0, count: Self.headBytes)
        }
    }

    /// Answers the text for the column of a record. O(bytes).
    mutating func append(_ record: LogRecord, digestsOfParts digests: [[UInt8]]) -> [UInt8] {
        if salts.isEmpty { salts = Cryptography.randomBytes(256 * Self.saltBytes)[...] }
        let salt = salts.prefix(Self.saltBytes)
        salts = salts.dropFirst(Self.saltBytes)
        let content = Self.content(
            record, salt: Array(salt), offset: record.stored?.offset ?? 0, digestsOfParts: digests, digest)
        head = Self.head(after: head, content, digest)
        return head + salt
    }

    // MARK: Digests

    static func content(
        _ record: LogRecord, salt: [UInt8], offset: Int, digestsOfParts digests: [[UInt8]], _ digest: RunningDigest
    ) -> [UInt8] {
        digest.restart()
        salt.withUnsafeBytes { digest.add($0) }
        let numbers = [
            record.firstSequence, UInt64(record.count), UInt64(bitPattern: record.time), UInt64(offset),
            UInt64(digests.count),
        ]
        // As a key path, this would cost as much as the digest.
        numbers.map { $0.littleEndian }.withUnsafeBytes { digest.add($0) }
        for part in digests { part.withUnsafeBytes { digest.add($0) } }
        record.body.withUnsafeBytes { digest.add($0) }
        return digest.finish()
    }

    static func head(after head: [UInt8], _ content: [UInt8], _ digest: RunningDigest) -> [UInt8] {
        digest.restart()
        head.withUnsafeBytes { digest.add($0) }
        content.withUnsafeBytes { digest.add($0) }
        return digest.finish()
    }

    static func digest(of part: UnsafeRawBufferPointer) -> [UInt8] {
        let digest = RunningDigest()
        digest.add(part)
        return digest.finish()
    }

    // MARK: The column

    /// The contents of a record's column.
    struct Link {
        let head: [UInt8]
        let proof: Proof

        enum Proof {
            /// The content can be hashed with this salt.
            case salt([UInt8])
            /// Something was erased: this is the digest of the content as it was.
            case erased(content: [UInt8])
        }

        /// Nil if the bytes are no link.
        init?(_ bytes: [UInt8]) {
            let rest = Array(bytes.dropFirst(LogChain.headBytes))
            switch rest.count {
            case LogChain.saltBytes: proof = .salt(rest)
            case LogChain.headBytes: proof = .erased(content: rest)
            default: return nil
            }
            head = Array(bytes.prefix(LogChain.headBytes))
        }
    }

    // MARK: The edge

    struct Edge: Equatable {
        /// The last operation that is not in the chain any more, or was never in it.
        var sequence: UInt64
        var head: [UInt8]
    }

    static func edge(in connection: Connection) throws(StorageError) -> Edge? {
        let select = try connection.prepare("SELECT value FROM meta WHERE name = 'chain'")
        guard try select.step() else { return nil }
        let bytes = select.blob(0)
        guard bytes.count == 8 + headBytes else { throw .damaged("the edge of the log's hash chain") }
        let sequence = bytes.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Edge(sequence: sequence, head: Array(bytes.dropFirst(8)))
    }

    private static func set(_ edge: Edge, in connection: Connection) throws(StorageError) {
        let insert = try connection.prepare("INSERT OR REPLACE INTO meta VALUES ('chain', ?)")
        insert.bind(1, withUnsafeBytes(of: edge.sequence.littleEndian) { Array($0) } + edge.head)
        try insert.run()
    }

    /// Begins a chain after the last record of a log.
    static func begin(in connection: Connection) throws(StorageError) {
        let last = try LogEnd(of: connection)?.last ?? 0
        try set(Edge(sequence: last, head: Cryptography.randomBytes(headBytes)), in: connection)
    }

    /// In the transaction that removes the records up to the one with the number `first`.
    static func moveEdge(past first: Int64, in connection: Connection) throws(StorageError) {
        let select = try connection.prepare("SELECT first + count - 1, chain FROM log WHERE first = ?")
        select.bind(1, first)
        guard try select.step(), let link = Link(select.blob(1)) else { return }
        try set(Edge(sequence: UInt64(bitPattern: select.integer(0)), head: link.head), in: connection)
    }
}
