import HearthServerFiles
import HearthBytes
import HearthJSONWebTokens
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

/// Compares the records of a commit log with its hash chain (``LogChain``). Changes nothing; a server may have the
/// database open.
package struct LogVerification: Sendable {
    /// A position in the log and the head of the chain there, as noted elsewhere: `4711:` and 64 hexadecimal digits.
    /// Someone who can write the file can make a new chain, but not one with a head that was noted.
    package struct Head: Hashable, Sendable {
        package var sequence: UInt64
        package var digest: [UInt8]

        package init(sequence: UInt64, digest: [UInt8]) { (self.sequence, self.digest) = (sequence, digest) }

        package init?(_ text: String) {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, let sequence = UInt64(parts[0]) else { return nil }
            let digits = parts[1].utf8.compactMap(Hexadecimal.value)
            guard digits.count == 2 * LogChain.headBytes, digits.count == parts[1].utf8.count else { return nil }
            let digest = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
            self.init(sequence: sequence, digest: digest)
        }

        package var text: String { "\(sequence):" + String(decoding: Hexadecimal.encode(digest), as: UTF8.self) }
    }

    /// Where the chain begins: the last operation before it.
    package private(set) var edge: UInt64 = 0
    /// Records in the chain, and those before it.
    package private(set) var records = 0
    package private(set) var recordsBefore = 0
    /// The head at the end.
    package private(set) var head: Head?
    /// The first operations of the records from which something was erased, at most ``problemsMax``, and how many there
    /// are. Their place in the chain is proved, the rest of their contents is not.
    package private(set) var erased: [UInt64] = []
    package private(set) var erasedCount = 0
    /// A line for each thing that is wrong, at most ``problemsMax``.
    package private(set) var problems: [String] = []
    package static let problemsMax = 100

    /// Reads the whole log; a record is in memory at a time.
    ///
    /// - parameter noted: heads that were noted before; those before the edge cannot be compared.
    package init(_ name: String, in folder: String, noted: [Head] = []) {
        precondition(DatabaseName.isValid(name))
        let files = DatabaseFiles(name: name, folder: folder)
        do throws(StorageError) {
            // The tree first: a log that is read later has everything that its rows include.
            let tree = try Connection(path: files.tree, mode: .readOnly)
            let reached = try tree.integer("SELECT value FROM meta WHERE name = 'sequence'") ?? 0
            let connection = try Connection(path: files.log, mode: .readOnly)
            try connection.execute("BEGIN")
            guard try connection.formatVersion(upTo: LogFormat.version) >= 2 else {
                throw .damaged("the log is of a release without hash chains: a server that opens it begins one")
            }
            try verify(connection, reached: UInt64(max(reached, 0)), noted: noted)
        } catch .damaged(let detail) {
            add(detail)
        } catch {
            add(error.message)
        }
    }

    private mutating func add(_ problem: String) {
        if problems.count < Self.problemsMax { problems.append(problem) }
    }

    private mutating func verify(_ connection: Connection, reached: UInt64, noted: [Head]) throws(StorageError) {
        guard let edge = try LogChain.edge(in: connection) else { throw .damaged("the hash chain has no beginning") }
        self.edge = edge.sequence
        var (last, head) = (edge.sequence, edge.head)
        var heads = [Head(sequence: last, digest: head)]
        let parts = try LogParts.Reader(connection)
        let digest = RunningDigest()
        let notedNumbers = Set(noted.map(\.sequence))
        let select = try connection.prepare("SELECT first, count, time, checksum, body, chain FROM log ORDER BY first")
        while try select.step() {
            guard let numbers = try? LogEnd.numbers(first: select.integer(0), count: select.integer(1)) else {
                add("record \(select.integer(0)): its number of operations is impossible")
                continue
            }
            let record = LogRecord(
                firstSequence: numbers.lowerBound, count: numbers.count, time: select.integer(2), body: select.blob(4))
            if record.lastSequence <= edge.sequence {
                recordsBefore += 1
                continue
            }
            records += 1
            if record.firstSequence > last + 1 { add("\(Self.range(last + 1, record.firstSequence - 1)) missing") }
            if record.firstSequence <= last { add("record \(record.firstSequence): it overlaps the one before it") }
            last = record.lastSequence
            guard let link = LogChain.Link(select.blob(5)) else {
                add("record \(record.firstSequence): it is not in the chain")
                continue
            }
            let content = try content(of: record, link, parts, digest)
            if LogChain.head(after: head, content, digest) != link.head {
                add("record \(record.firstSequence): it, its place in the order, or the one before it was changed")
            }
            head = link.head
            if notedNumbers.contains(last) { heads.append(Head(sequence: last, digest: head)) }
        }
        if last < reached { add("\(Self.range(last + 1, reached)) missing at the end: the tree has them") }
        self.head = Head(sequence: last, digest: head)
        for head in noted { compare(head, with: heads, last) }
    }

    private mutating func content(
        of record: LogRecord, _ link: LogChain.Link, _ parts: LogParts.Reader, _ digest: RunningDigest
    ) throws(StorageError) -> [UInt8] {
        switch link.proof {
        case .salt(let salt):
            let text = try parts.text(of: record.firstSequence)
            return LogChain.content(
                record, salt: salt, offset: text?.offset ?? 0, digestsOfParts: text?.digests ?? [], digest)
        case .erased(let content):
            erasedCount += 1
            if erased.count < Self.problemsMax { erased.append(record.firstSequence) }
            return content
        }
    }

    private mutating func compare(_ noted: Head, with heads: [Head], _ last: UInt64) {
        if noted.sequence < edge {
            return add("the head at \(noted.sequence) cannot be compared: the chain begins after it")
        }
        guard noted.sequence <= last else {
            return add(
                "\(Self.range(last + 1, noted.sequence)) missing at the end: a head at \(noted.sequence) was noted")
        }
        guard let found = heads.first(where: { $0.sequence == noted.sequence }) else {
            return add("the head at \(noted.sequence) is missing: no record ends there")
        }
        if found != noted {
            add("the head at \(noted.sequence) is not the one that was noted: the chain was made anew")
        }
    }

    private static func range(_ first: UInt64, _ last: UInt64) -> String {
        first == last ? "operation \(first) is" : "operations \(first) to \(last) are"
    }
}
