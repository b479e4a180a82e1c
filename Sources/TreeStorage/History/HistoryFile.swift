import Glibc
import HearthServerFiles
import HearthJSONTree
import HearthRealtimeDatabase
package import HearthSecurityRules
import HearthSQLite
package import HearthStorageErrors

/// The past of the places of a database whose settings have `.history`: every change of them, with who and when.
///
/// It follows the commit log, as the tree does, and adds nothing to the work of a commit. `NAME.history` is a SQLite
/// file:
///
/// ```
/// place(id, pattern, start, edge, folding)             a `.history`: the operations at which it begins and, after
///                                                      pruning, at which its changes begin
/// change(place, path, sequence, part, kind, value)     what an operation set, or the priority it set (``Kind``)
/// moment(sequence, time, uid)                          when the operation was made, and by whom
/// erased(path, sequence)                               where something was erased, and the operation with which the
///                                                      history there starts over
/// meta(name, value)                                    sequence: the last operation that was read from the log;
///                                                      first, mark: the log's row that has it; erasing: the time of
///                                                      that row, while its mark may change; fold: see below;
///                                                      clock: see ``HistoryClock``
/// ```
/// `NAME.past` is a tree file with the places as they were at their edges, those of each `.history` below its `id`: a
/// write above places is a change of each `.history` on its own. The value at a moment is its value there, with the
/// changes since. Changes that are old enough are *folded*: made in the tree file, and deleted here. Each fold has a
/// number, which is the tree file's sequence number afterwards; so after a crash between the two files it is known
/// whether the tree file has the fold. Both files overwrite what they delete, but not the copies of it that splits of
/// pages have left in unused space: ``rewrite(patience:)`` does.
///
/// The rows have no checksums, unlike those of the tree file: their forms are checked where they are read.
///
/// Used on one thread.
package final class HistoryFile: @unchecked Sendable {
    // Safe because: one thread at a time uses it.
    let name: String
    let folder: String
    private let durability: Durability
    let connection: Connection
    let past: TreeFile
    private(set) var places: [Place] = []
    /// Whether the write-ahead files may have bytes that were deleted.
    private var isTidy = false
    /// The last operation that was read from the log.
    package private(set) var sequence: UInt64
    private let insertChange: Statement
    private let insertMoment: Statement
    /// Since the file was first advanced (HistoryFile+Clock.swift), and as it is in the file.
    var clock: HistoryClock?
    var storedClock: HistoryClock.State?
    /// The last operation that had been read when the clocks were last looked at.
    private var observed: UInt64
    private let identities: [FileIdentity]

    struct Place {
        let id: Int64
        let kept: KeptPlaces
        /// The operation at which the history begins; and the one up to which changes are in the tree file.
        let start: UInt64
        var edge: UInt64

        /// Where a path is in the tree file.
        func location(of path: Path) -> Path { Path(encoded: Path([Key(Int32(clamping: id))]).encoded + path.encoded) }
    }

    /// The kind of a row of the table `change`.
    enum Kind: Int64 {
        case set, priority
        /// The same for the values at the beginning of the history.
        case initial, initialPriority

        var isPriority: Bool { self == .priority || self == .initialPriority }
        var isInitial: Bool { self == .initial || self == .initialPriority }
    }

    /// Where the files of the history of a database are.
    package static func paths(of name: String, in folder: String) -> [String] {
        ["\(folder)/\(name).history", "\(folder)/\(name).past"]
    }

    /// Whether a database has a history.
    package static func exists(of name: String, in folder: String) -> Bool {
        access(paths(of: name, in: folder)[0], F_OK) == 0
    }

    /// Removes the history of a database; its files must be closed.
    package static func remove(of name: String, in folder: String) {
        for path in paths(of: name, in: folder) { for suffix in DatabaseFiles.suffixes { unlink(path + suffix) } }
    }

    package init(_ name: String, in folder: String, durability: Durability) throws(StorageError) {
        precondition(DatabaseName.isValid(name))
        (self.name, self.folder, self.durability) = (name, folder, durability)
        let files = DatabaseFiles(name: name, folder: folder)
        guard access(files.installing, F_OK) != 0 else { throw Self.isReplaced }
        let paths = Self.paths(of: name, in: folder)
        connection = try Connection(path: paths[0], mode: .readWrite)
        try connection.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = wal; PRAGMA secure_delete = on")
        try connection.execute("PRAGMA synchronous = \(durability.synchronous); PRAGMA cache_size = -8192")
        try HistoryFormat.prepare(connection)
        past = try TreeFile(path: paths[1], durability: durability, overwrites: true)
        sequence = try connection.number("SELECT value FROM meta WHERE name = 'sequence'") ?? 0
        observed = sequence
        insertChange = try connection.prepare("INSERT OR REPLACE INTO change VALUES (?, ?, ?, ?, ?, ?)")
        insertMoment = try connection.prepare("INSERT OR IGNORE INTO moment VALUES (?, ?, ?)")
        identities = (paths + [files.log, files.tree]).compactMap(FileIdentity.init)
        for path in paths { FolderSync.giveToOwner(path, of: folder) }
        try readPlaces()
        try finishFolding()
    }

    /// While a copy of another node's files replaces these (NodeCopy.swift).
    package static let isReplaced = StorageError.busy("a copy of another node's history is being put in its place")

    /// Throws if one of the files is not under its name any more, or the database's are others.
    package func verify() throws(StorageError) { for identity in identities { try identity.verify() } }

    private func readPlaces() throws(StorageError) {
        places = []
        let select = try connection.prepare("SELECT id, pattern, start, edge FROM place ORDER BY id")
        while try select.step() {
            guard let pattern = IndexPattern(text: select.text(1)) else {
                throw .damaged("\(connection.path) has an invalid place")
            }
            places.append(
                Place(
                    id: Int64(try select.number(0)), kept: KeptPlaces(pattern), start: try select.number(2),
                    edge: try select.number(3)))
        }
    }

    // MARK: Following

    /// Reads new records of the log, begins missing histories of places, ends those that are no longer wanted, and
    /// folds some old changes (``HistoryClock``). The cost depends on the new records.
    ///
    /// - parameter wall: the clock of the machine, in milliseconds since 1970, which may jump.
    /// - parameter uptime: a monotonic clock, in milliseconds.
    /// - returns: whether there may be more to fold.
    package func advance(
        _ definitions: [HistoryDefinition], wall: Int64, uptime: Int64
    ) throws(StorageError) -> Bool {
        try verify()
        try follow(definitions)
        // Readers may have been in the way last time.
        if !isTidy { try tidy() }
        guard let keepMax = definitions.compactMap(\.keep).max() else { return false }
        let clock = try observe(wall: wall, uptime: uptime, before: observed, keepMax: keepMax)
        observed = sequence
        var hasMore = false
        for definition in definitions {
            guard let keep = definition.keep, let old = clock.horizon(keeping: keep) else { continue }
            if try fold(definition.pattern, old) { hasMore = true }
        }
        return hasMore
    }

    /// The first part of ``advance(_:wall:uptime:)``.
    package func follow(_ definitions: [HistoryDefinition]) throws(StorageError) {
        let log = try Connection(path: DatabaseFiles(name: name, folder: folder).log, mode: .readOnly)
        if try !continues(in: log) { try forgetAll() }
        let wanted = Set(definitions.map(\.pattern))
        for place in places where !wanted.contains(place.kept.pattern) { try end(place) }
        if !places.isEmpty { try read(log, after: sequence, for: places) }
        for pattern in wanted.subtracting(places.map(\.kept.pattern)).sorted(by: { $0.text < $1.text }) {
            try begin(KeptPlaces(pattern), log)
        }
    }

    /// Whether the log's records after ``sequence`` follow those read before: they do not if the log is that of a
    /// restored backup, or was pruned meanwhile.
    private func continues(in log: Connection) throws(StorageError) -> Bool {
        if places.isEmpty { return true }
        if let next = try LogFile.firstRow(after: sequence, in: log), next > Int64(sequence) + 1 { return false }
        return try Self.hasMarkedRow(log, connection) ?? (sequence == 0)
    }

    /// Whether a log has the row by which a history knows it; nil if the history knows none.
    static func hasMarkedRow(
        _ log: Connection, attachedAs logSchema: String = "main", _ history: Connection,
        attachedAs schema: String = "main"
    ) throws(StorageError) -> Bool? {
        guard let first = try history.integer("SELECT value FROM \(schema).meta WHERE name = 'first'") else {
            return nil
        }
        let noted = try history.prepare("SELECT value FROM \(schema).meta WHERE name = 'mark'")
        guard try noted.step(), let found = try mark(of: first, in: log, attachedAs: logSchema) else { return false }
        if found == noted.blob(0) { return true }
        guard let time = try history.integer("SELECT value FROM \(schema).meta WHERE name = 'erasing'") else {
            return false
        }
        return try timeOfUnlinked(first, in: log, attachedAs: logSchema) == time
    }

    /// When a row of a log was written; nil if it has a link in the hash chain, which is a better mark.
    private static func timeOfUnlinked(
        _ first: Int64, in log: Connection, attachedAs schema: String = "main"
    ) throws(StorageError) -> Int64? {
        let select = try log.prepare("SELECT chain, time FROM \(schema).log WHERE first = ?")
        select.bind(1, first)
        guard try select.step(), LogChain.Link(select.blob(0)) == nil else { return nil }
        return select.integer(1)
    }

    /// A mark that tells a row of the log from one of another log: its link in the hash chain, which stays when
    /// something is erased from it, or the checksum of one that is not in the chain.
    static func mark(
        of first: Int64, in log: Connection, attachedAs schema: String = "main"
    ) throws(StorageError) -> [UInt8]? {
        let select = try log.prepare("SELECT chain, checksum FROM \(schema).log WHERE first = ?")
        select.bind(1, first)
        guard try select.step() else { return nil }
        if let link = LogChain.Link(select.blob(0)) { return link.head }
        return withUnsafeBytes(of: select.integer(1).littleEndian) { Array($0) }
    }

    /// Of all places.
    private func forgetAll() throws(StorageError) {
        for place in places { try end(place) }
        try connection.execute("DELETE FROM moment; DELETE FROM erased; DELETE FROM meta WHERE name <> 'fold'")
        // Its marks are those of other operations.
        (clock, storedClock) = (nil, nil)
        sequence = 0
    }

    /// Bytes of changes after which a transaction ends.
    private static let bytesPerTransaction = 4 << 20

    /// Takes up the changes of places by operations after a number, in transactions of some size.
    func read(_ log: Connection, after start: UInt64, for places: [Place]) throws(StorageError) {
        guard let last = try LogEnd(of: log)?.last, last != start else { return }
        let patterns = ConcernedPatterns(places.map(\.kept.pattern))
        var bytes = 0
        try connection.execute("BEGIN IMMEDIATE")
        do throws(StorageError) {
            if last > start {
                try LogFile.forEachRecord(in: log, after: start) { (record) throws(StorageError) in
                    try take(record, concerning: patterns, after: start, through: .max, for: places)
                    bytes += record.byteCount
                    guard bytes > Self.bytesPerTransaction else { return }
                    bytes = 0
                    try setPosition(record.lastSequence, in: log)
                    try connection.execute("COMMIT; BEGIN IMMEDIATE")
                    sequence = record.lastSequence
                }
            }
            try setPosition(last, in: log)
            try connection.execute("COMMIT")
            sequence = last
        } catch {
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    /// Takes up the changes of places by operations after a number and up to another one. In a transaction.
    func take(
        _ log: Connection, after start: UInt64, through end: UInt64, for places: [Place]
    ) throws(StorageError) {
        if end <= start { return }
        let patterns = ConcernedPatterns(places.map(\.kept.pattern))
        try LogFile.forEachRecord(in: log, after: start) { (record) throws(StorageError) in
            try take(record, concerning: patterns, after: start, through: end, for: places)
        }
    }

    private func take(
        _ record: LogRecord, concerning patterns: ConcernedPatterns, after start: UInt64, through end: UInt64,
        for places: [Place]
    ) throws(StorageError) {
        for operation in try record.changes(concerning: patterns)
        where operation.sequence > start && operation.sequence <= end {
            try take(operation, at: record.time, for: places)
        }
    }

    /// The log was read up to an operation, and a row near it will tell whether it is the same log. In a transaction.
    func setPosition(_ sequence: UInt64, in log: Connection) throws(StorageError) {
        try Self.setPosition(sequence, in: log, connection)
    }

    static func setPosition(
        _ sequence: UInt64, in log: Connection, _ connection: Connection
    ) throws(StorageError) {
        try LogSync.sync(log.path)
        let near = "SELECT max(first) FROM log WHERE first <= \(sequence)"
        guard let first = try log.integer("SELECT coalesce((\(near)), (SELECT min(first) FROM log))"), first > 0 else {
            // Nothing was ever written.
            return try connection.execute("DELETE FROM meta WHERE name NOT IN ('fold', 'clock')")
        }
        let insert = try connection.prepare(
            "INSERT OR REPLACE INTO meta VALUES ('sequence', ?), ('first', ?), ('mark', ?)")
        insert.bind(1, Int64(sequence))
        insert.bind(2, first)
        insert.bind(3, try mark(of: first, in: log) ?? [])
        try insert.run()
        try connection.execute("DELETE FROM meta WHERE name = 'erasing'")
    }

    /// Something may be erased from the row by which the log is known, and a row without a link has another mark then.
    /// Until the position is set again, the row is also known by its time, which an erasure keeps.
    func expectErasure(in log: Connection) throws(StorageError) {
        guard let first = try connection.integer("SELECT value FROM meta WHERE name = 'first'"),
            let time = try Self.timeOfUnlinked(first, in: log)
        else { return }
        let insert = try connection.prepare("INSERT OR REPLACE INTO meta VALUES ('erasing', ?)")
        insert.bind(1, time)
        try insert.run()
    }

    private func take(
        _ operation: LoggedOperation, at time: Int64, for places: [Place]
    ) throws(StorageError) {
        var isTaken = false
        for place in places where operation.sequence > place.start {
            var part: Int64 = 0
            for change in changes(by: operation, of: place.kept) {
                try insert(change, of: place.id, operation.sequence, part)
                part += 1
                isTaken = true
            }
        }
        if isTaken { try insert(moment: operation.sequence, time, operation.uid) }
    }

    /// The changes of places by an operation.
    func changes(by operation: LoggedOperation, of kept: KeptPlaces) -> [Change] {
        operation.assignments.compactMap { kept.part(of: $0).map(Change.init) }
    }

    func insert(_ change: Change, of place: Int64, _ sequence: UInt64, _ part: Int64) throws(StorageError) {
        insertChange.bind(1, place)
        insertChange.bind(2, change.path.encoded)
        insertChange.bind(3, Int64(sequence))
        insertChange.bind(4, part)
        insertChange.bind(5, change.kind.rawValue)
        insertChange.bind(6, change.value.bytes)
        try insertChange.run()
    }

    func insert(moment sequence: UInt64, _ time: Int64, _ uid: [UInt8]) throws(StorageError) {
        insertMoment.bind(1, Int64(sequence))
        insertMoment.bind(2, time)
        insertMoment.bind(3, uid)
        try insertMoment.run()
    }

    // MARK: What the other parts change

    /// The history of a place has begun at an operation; of the first one, the log is read up to there.
    func add(_ place: Place) {
        if places.isEmpty { sequence = place.start }
        places.append(place)
    }

    func remove(_ place: Place) { places.removeAll { $0.id == place.id } }

    func set(edge: UInt64, of id: Int64) {
        guard let index = places.firstIndex(where: { $0.id == id }) else { return }
        places[index].edge = edge
    }

    /// Removes the moments and erasures before the beginning of every history. In a transaction.
    func removeMoments() throws(StorageError) {
        let edge = "(SELECT coalesce(min(edge), \(Int64.max)) FROM place)"
        try connection.execute(
            "DELETE FROM moment WHERE sequence < \(edge); DELETE FROM erased WHERE sequence <= \(edge)")
    }

    /// Leaves nothing in the write-ahead files that was deleted. It does not wait for those who read the files, for
    /// example a backup: with them in the way, ``advance(_:wall:uptime:)`` repeats it.
    ///
    /// - returns: whether it was done.
    @discardableResult
    func tidy() throws(StorageError) -> Bool {
        isTidy = false
        while past.isClearing { try past.clearSome() }
        let areEmpty = (try connection.emptyWriteAheadFile(), try past.emptyWriteAheadFile())
        isTidy = areEmpty.0 && areEmpty.1
        return isTidy
    }

    /// Writes both files anew, without what was deleted: SQLite does not overwrite the copies of rows that splits of
    /// pages have left in unused space. Takes as long as copying them. A crash, or a full disk, leaves each file as it
    /// was or as it is to be.
    ///
    /// - parameter patience: how long it waits for those who read a file, in milliseconds.
    /// - throws: ``StorageError/busy(_:)`` if somebody still reads a file then: it has the old bytes.
    func rewrite(patience: Int) throws(StorageError) {
        isTidy = false
        try connection.execute("PRAGMA busy_timeout = \(patience); VACUUM")
        try connection.emptyForErasure()
        try past.rewrite(patience: patience)
        isTidy = true
    }
}
