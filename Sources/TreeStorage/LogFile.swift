import HearthServerFiles
package import HearthRealtimeDatabase
import HearthSQLite
package import HearthStorageErrors

/// The commit log of one database: a SQLite file with one row per turn.
///
/// ```
/// log(first INTEGER PRIMARY KEY, count, time, checksum INTEGER, body BLOB,     see LogRecord
///     chain BLOB)                                                              see LogChain
/// epoch(start INTEGER, name INTEGER)                                           see Epochs
/// meta(name TEXT PRIMARY KEY, value)                                           the edge of the chain; used by `probe`;
///                                                                              whether it is of a cluster; the last
///                                                                              erasing
/// ```
/// Large texts are beside it (``LogParts``). ``LogFormat`` makes the tables.
///
/// Write-ahead mode; with ``Durability/full`` a commit returns once the disk has it, unless syncs are deferred.
package final class LogFile: @unchecked Sendable {
    // Safe because: one thread at a time uses it. The database thread opens and reads it; then it is the committer's.
    // They hand it over through their mailboxes.

    let connection: Connection
    private let room: WriteAheadRoom
    private let insert: Statement
    // Reading these words would take as long as a small record.
    private let begin: Statement
    private let commit: Statement
    private var durability: Durability
    var parts: LogParts
    private var chain: LogChain
    /// The number of the last operation in the log, 0 for an empty one.
    package private(set) var lastSequence: UInt64
    /// Which positions are of this log. The current epoch is recorded with the first operation of it.
    package private(set) var epochs: Epochs
    private var isEpochRecorded = false
    /// The records are those of a log that several nodes append to. Such files do not found another one by themselves:
    /// other nodes may have more of it.
    package private(set) var isOfCluster: Bool
    /// The next record is not one of a cluster.
    private var leavesCluster: Bool { isOfCluster && !isShared }
    /// Several nodes append to the log.
    private var isShared = true
    let path: String
    /// The files, as they were opened.
    private var identities: [FileIdentity] = []

    /// - parameter newEpoch: the name of the epoch that begins with the next operation.
    package init(path: String, durability: Durability, newEpoch: UInt64) throws(StorageError) {
        self.path = path
        self.durability = durability
        connection = try Connection(path: path, mode: .readWrite)
        try connection.execute("PRAGMA journal_mode = wal; PRAGMA synchronous = full")
        // The log is written once and seldom read: large steps between checkpoints, small cache.
        try connection.execute("PRAGMA cache_size = -2048")
        try LogFormat.prepare(connection)
        lastSequence = try LogEnd(of: connection)?.last ?? 0
        var past: [Epochs.Epoch] = []
        let select = try connection.prepare("SELECT name, start FROM epoch ORDER BY start, rowid")
        while try select.step() {
            past.append(
                .init(name: UInt64(bitPattern: select.integer(0)), start: UInt64(bitPattern: select.integer(1))))
        }
        epochs = Epochs(past: past, current: .init(name: newEpoch, start: lastSequence))
        isOfCluster = try LogFormat.isOfCluster(connection)
        insert = try connection.prepare("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)")
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        parts = try LogParts(connection)
        chain = try LogChain(in: connection)
        try connection.execute("PRAGMA synchronous = \(durability.synchronous)")
        room = try WriteAheadRoom(connection)
        identities = [path, path + "-wal"].compactMap(FileIdentity.init)
    }

    /// Throws if the files no longer have their names: writes to them would be lost.
    package func verify() throws(StorageError) {
        for identity in identities { try identity.verify() }
    }

    /// One server appends to the log. Until it does, the records may be those of a cluster.
    func goOnAlone() { isShared = false }

    /// The log has lost its end: it continues after an operation that it does not have, and knows no earlier positions.
    func goOn(behind sequence: UInt64) {
        epochs = Epochs(current: .init(name: epochs.current.name, start: sequence))
        isEpochRecorded = false
    }

    /// For a log that several nodes append to, in which numbers are given out once: the last epoch continues.
    func goOnWithEpoch() throws(StorageError) {
        if let last = epochs.past.last {
            epochs = Epochs(past: epochs.past.dropLast(), current: last)
        } else if lastSequence > 0 {
            // Of a version that recorded none.
            try recordEpoch()
        } else {
            return
        }
        isEpochRecorded = true
    }

    /// The file, which is empty, belongs to this history.
    package func begin(epoch: UInt64) {
        precondition(lastSequence == 0, "a history that begins with data")
        epochs = Epochs(current: .init(name: epoch, start: 0))
        isEpochRecorded = false
    }

    /// Says that the records are those of a log that several nodes append to.
    package func markAsOfCluster() throws(StorageError) {
        guard !isOfCluster else { return }
        try connection.execute("INSERT OR REPLACE INTO meta VALUES ('\(LogFormat.clusterMark)', 1)")
        isOfCluster = true
    }

    /// The history that begins after the last record, from now on and in the file.
    func beginEpoch() throws(StorageError) {
        try connection.transaction { () throws(StorageError) in try recordEpoch() }
        isEpochRecorded = true
    }

    /// From now on commits do not wait for the disk, which ``LogSync`` has take them. Those that the file has now are
    /// written again and synced, as an earlier process may have ended after a failed sync. The write-ahead file is
    /// emptied: the disk may have only parts of it, which SQLite would apply once more after a loss of power.
    ///
    /// Throws ``StorageError/busy(_:)`` at once if another connection reads the write-ahead file.
    package func deferSyncs() throws(StorageError) {
        guard durability == .full else { return }
        // Not waited for: the thread that opens files would open no others meanwhile.
        guard try connection.emptyWriteAheadFile() else { throw .busy("\(path) is being read") }
        try connection.execute("PRAGMA synchronous = normal")
        durability = .process
    }

    /// Waits until the disk has everything; called when nothing more is appended.
    package func sync() throws(StorageError) {
        if durability == .process { try connection.execute("PRAGMA wal_checkpoint(PASSIVE)") }
    }

    /// Appends records in one transaction: all of them or, when it throws, none. After an error of the disk itself it
    /// is not known which: a crash before the next commit may bring them back.
    package func append(_ records: [LogRecord]) throws(StorageError) {
        guard let last = records.last else { return }
        try verify()
        // It continues only once the records are in the file.
        var chain = self.chain
        try begin.run()
        do throws(StorageError) {
            if !isEpochRecorded { try recordEpoch() }
            if leavesCluster { try connection.execute("DELETE FROM meta WHERE name = '\(LogFormat.clusterMark)'") }
            for record in records {
                insert.bind(1, Int64(record.firstSequence))
                insert.bind(2, Int64(record.count))
                insert.bind(3, record.time)
                insert.bind(4, Int64(bitPattern: record.checksum))
                insert.bind(5, record.body)
                insert.bind(6, chain.append(record, digestsOfParts: try parts.digests(of: record)))
                try insert.run()
                try parts.refer(record)
            }
            try commit.run()
        } catch {
            // A full disk ends the transaction by itself; then there is nothing to roll back.
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            throw error
        }
        self.chain = chain
        if records.contains(where: { $0.stored != nil }) { parts.end() }
        lastSequence = last.lastSequence
        isEpochRecorded = true
        if leavesCluster { isOfCluster = false }
        // Commits that do not wait for the disk do not wait for the length either.
        if durability == .full { room.extend() }
    }

    private func recordEpoch() throws(StorageError) {
        let (name, start) = (epochs.current.name, epochs.current.start)
        if epochs.past.isEmpty { try connection.execute("DELETE FROM epoch") }
        if epochs.past.last?.name == name { return }
        try LogFormat.renewEpochTable(connection)
        let record = try connection.prepare("INSERT INTO epoch VALUES (?, ?)")
        record.bind(1, Int64(bitPattern: start))
        record.bind(2, Int64(bitPattern: name))
        try record.run()
    }

    /// Visits the records that hold operations after `sequence`, in order. Throws ``StorageError/damaged(_:)`` where
    /// one of them is missing from the log or damaged.
    package func forEachRecord(
        after sequence: UInt64, _ body: (LogRecord) throws(StorageError) -> Void
    ) throws(StorageError) {
        try LogFile.forEachRecord(in: connection, after: sequence, body)
    }

    static func forEachRecord(
        in connection: Connection, after sequence: UInt64, _ body: (LogRecord) throws(StorageError) -> Void
    ) throws(StorageError) {
        let select = try connection.prepare(
            """
            SELECT first, count, time, checksum, body FROM log
            WHERE first >= \(LogFile.firstAfter) AND first + count > ?1 + 1 ORDER BY first
            """)
        select.bind(1, Int64(sequence))
        let parts = try LogParts.Reader(ifNeededIn: connection)
        var next = sequence + 1
        while try select.step() {
            let record = try record(of: select, parts)
            guard record.firstSequence <= next else { throw .damaged("log row \(next) is missing") }
            next = record.lastSequence + 1
            try body(record)
        }
    }

    /// The record of a row with the columns first, count, time, checksum and body.
    static func record(of select: borrowing Statement, _ parts: LogParts.Reader?) throws(StorageError) -> LogRecord {
        let numbers = try LogEnd.numbers(first: select.integer(0), count: select.integer(1))
        var record = LogRecord(
            firstSequence: numbers.lowerBound, count: numbers.count, time: select.integer(2), body: select.blob(4))
        let checksum = UInt64(bitPattern: select.integer(3))
        let sum = try parts.map { (parts) throws(StorageError) in try parts.complete(&record) } ?? record.checksum
        guard sum == checksum else { throw .damaged("log row \(record.firstSequence)") }
        return record
    }

    /// The bytes of a row of the log. Damaged ones are limited, so that sums of them are numbers.
    static let byteCount = byteCount(large: "large")

    static func byteCount(large: String) -> String {
        """
        length(body) + coalesce(
            (SELECT min(max(bytes, 0), 1 << 40) FROM \(large) AS parts WHERE parts.first = log.first), 0)
        """
    }

    /// The number with which the row begins that holds the operation after `sequence`, or the first row after it.
    /// One look-up, however long the log is.
    static func firstRow(after sequence: UInt64, in log: Connection) throws(StorageError) -> Int64? {
        let select = try log.prepare(
            """
            SELECT first FROM log WHERE first >= \(firstAfter) AND first + count > ?1 + 1 ORDER BY first LIMIT 1
            """)
        select.bind(1, Int64(sequence))
        return try select.firstInteger()
    }

    /// The row that holds the operation after `?1`, or the one before it.
    static let firstAfter = "coalesce((SELECT max(first) FROM log WHERE first <= ?1 + 1), 0)"

    /// Removes the rows at the beginning that are older than `time`, or all while the log is larger than `bytesMax`;
    /// but none that the tree file has not got (`appliedSequence`), and never the last one, which carries the sequence
    /// number on. At most `rowsMax` rows a call; answers whether there may be more.
    ///
    /// - parameter now: rows from later than that were made while the clock was wrong, and are as old as those after
    ///   them.
    package func prune(
        before time: Int64, now: Int64 = .max, keepingBytes bytesMax: Int64, appliedSequence: UInt64,
        rowsMax: Int64 = 4096
    ) throws(StorageError) -> Bool {
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        let free = try connection.integer("PRAGMA freelist_count") ?? 0
        let pageSize = try connection.integer("PRAGMA page_size") ?? 4096
        var bytesAbove = (pages - free) * pageSize - bytesMax
        // Parts of records that have gone still take pages: further records would go for them.
        if bytesAbove > 0, parts.hasStrays {
            try parts.removeStrays()
            return true
        }
        let limit = min(appliedSequence, lastSequence)
        // The rows that go have no gaps between them, even if the clock once went back.
        let select = try connection.prepare(
            "SELECT first, count, time, \(LogFile.byteCount) FROM log ORDER BY first LIMIT ?")
        select.bind(1, rowsMax)
        var end: Int64?
        var looked: Int64 = 0
        var rows: Int64 = 0
        while try select.step(), bytesAbove > 0 || select.integer(2) < time || select.integer(2) > now {
            let numbers = try? LogEnd.numbers(first: select.integer(0), count: select.integer(1))
            guard let numbers, numbers.upperBound < limit else { break }
            looked += 1
            if bytesAbove > 0 || select.integer(2) < time {
                end = select.integer(0)
                rows = looked
            }
            bytesAbove -= select.integer(3)
        }
        select.reset()
        guard let end else {
            try parts.removeStrays()
            return parts.hasStrays
        }
        let delete = try connection.prepare("DELETE FROM log WHERE first <= ?")
        try connection.transaction { () throws(StorageError) in
            try LogChain.moveEdge(past: end, in: connection)
            delete.bind(1, end)
            try delete.run()
            try parts.removeReferences(through: end)
        }
        // Of the epochs those stay that have numbers from where the log begins now.
        try connection.execute(
            """
            DELETE FROM epoch
            WHERE start < (SELECT max(start) FROM epoch WHERE start < (SELECT min(first) - 1 FROM log))
            """)
        return rows == rowsMax || parts.hasStrays
    }

    /// Whether there are rows that ``prune(before:now:keepingBytes:appliedSequence:rowsMax:)`` may remove, sooner or
    /// later.
    package func hasHistory() throws(StorageError) -> Bool {
        (try connection.integer("SELECT count(*) FROM (SELECT 1 FROM log LIMIT 2)") ?? 0) > 1
    }

    /// When the last record was made, in milliseconds since 1970; 0 for an empty log.
    package func lastTime() throws(StorageError) -> Int64 {
        try connection.integer("SELECT time FROM log ORDER BY first DESC LIMIT 1") ?? 0
    }

    /// When an operation was committed, in milliseconds since 1970; nil if the log does not have it.
    package func time(of sequence: UInt64) throws(StorageError) -> Int64? {
        try LogFile.times(of: [sequence], in: connection)[sequence]
    }

    static func times(
        of sequences: some Sequence<UInt64>, in connection: Connection
    ) throws(StorageError) -> [UInt64: Int64] {
        let select = try connection.prepare(
            "SELECT time, first + count FROM log WHERE first <= ?1 ORDER BY first DESC LIMIT 1")
        var times: [UInt64: Int64] = [:]
        for sequence in sequences {
            select.bind(1, Int64(clamping: sequence))
            if try select.step(), select.integer(1) > Int64(clamping: sequence) { times[sequence] = select.integer(0) }
            select.reset()
        }
        return times
    }

    /// Finds out whether the disk takes commits again, by making one that changes nothing.
    package func probe() throws(StorageError) {
        try verify()
        try connection.transaction { () throws(StorageError) in
            try connection.execute("INSERT OR REPLACE INTO meta VALUES ('probe', randomblob(16384))")
        }
        try connection.execute("DELETE FROM meta WHERE name = 'probe'")
    }
}

/// The failures that an acknowledged write survives.
package enum Durability: String, Sendable, CaseIterable {
    /// A power loss: every commit waits for the disk.
    case full
    /// A crash of the process, not of the machine.
    case process
    /// Nothing: files are temporary and removed at the end.
    case memory

    var synchronous: String {
        switch self {
        case .full: "full"
        // Whole after a power loss too, though not up to the last commit.
        case .process: "normal"
        case .memory: "off"
        }
    }
}
