import Glibc
import HearthSQLite
import HearthStorageErrors

/// Keeps the archive of one database up to date: periodic copies, and every commit since. Used on one thread, with or
/// without a server that writes to the database.
package struct DatabaseArchive: Sendable {
    package struct Settings: Sendable {
        /// A new copy is made after this time, in milliseconds, so that a restore does not read much of the log.
        package var baseInterval: Int64 = 24 * 3_600_000
        /// How far back a restore can reach at least, in milliseconds.
        package var window: Int64 = 7 * 24 * 3_600_000
        /// So many tails are merged into a segment.
        package var tailsMax = 60

        package init() {}
    }

    /// The outcome of a step.
    package struct Progress: Equatable, Sendable {
        /// The last commit in the archive.
        package var sequence: UInt64
        /// Whether commits are missing between the archive as it was and as it is now, because the log no longer has
        /// them or is another one.
        package var hasGap = false
        package var madeBase = false
        /// Paths of the chains that were removed.
        package var removed: [String] = []
    }

    private let name: String
    private let data: String
    private let folder: ArchiveFolder
    private let settings: Settings
    /// In milliseconds since 1970.
    private let clock: @Sendable () -> Int64
    /// The files of the database as they were when everything in them was last archived.
    private var archived: [FileState] = []
    private var sequence: UInt64 = 0
    /// A monotonic clock, in milliseconds.
    private let uptime: @Sendable () -> Int64
    /// When chains were made, by that clock, so that none is removed because the other one jumps while this process
    /// runs. By path.
    private var births: [String: Int64] = [:]
    /// The chain that this process has begun last.
    private var current: String?

    /// - parameters:
    ///   - data: the data folder of the database.
    ///   - archive: a folder that is there.
    ///   - clock: that of the machine, in milliseconds since 1970.
    ///   - uptime: a monotonic clock that also runs while the machine sleeps, in milliseconds.
    package init(
        of name: String, in data: String, to archive: String, settings: Settings,
        clock: @escaping @Sendable () -> Int64 = { Backup.now }, uptime: @escaping @Sendable () -> Int64
    ) {
        self.clock = clock
        self.uptime = uptime
        self.name = name
        self.data = data
        self.settings = settings
        folder = ArchiveFolder(archive, database: name)
    }

    /// Archives everything that is in the log. A new archive, and one whose end the log does not have, begins with a
    /// copy. So does one of a log from which something was erased since. Costs a look at the folder and two calls of
    /// `stat` when nothing has changed.
    package mutating func advance() throws(BackupError) -> Progress {
        let now = clock()
        let files = DatabaseFiles(name: name, folder: data)
        let state = [files.log, files.log + "-wal"].map(FileState.init)
        let chains = folder.chains
        noteBirths(of: chains, now: now)
        // Not always the one of the latest time: that may have been made while the clock was ahead, and the log be
        // another one since.
        let chain = chains.first { $0.path == current } ?? chains.last
        let isDue = chain.map { $0.time + settings.baseInterval <= now } ?? true
        if state == archived, !isDue { return Progress(sequence: sequence) }
        if chains.isEmpty, try isBeingMade(files) { return Progress(sequence: 0) }
        var progress = Progress(sequence: 0)
        if let chain, let end = try extend(chain, from: files.log) {
            progress.sequence = end.last
            // A copy without what was erased, also of a database to which nothing is written any more.
            if end.isErased || isDue && end.last > chain.sequence {
                try begin(after: chain, log: files.log, &progress)
            }
        } else {
            progress.hasGap = !chains.isEmpty || !archived.isEmpty
            try begin(after: nil, log: files.log, &progress)
        }
        progress.removed = removeOld(now: now)
        sequence = progress.sequence
        archived = state
        return progress
    }

    /// Whether the server has yet to make the files of a new database, or their tables: nothing is committed. A tree
    /// with rows, or a log with commits, whose other file is missing is not such a database.
    private func isBeingMade(_ files: DatabaseFiles) throws(BackupError) -> Bool {
        do throws(StorageError) {
            func rows(_ table: String, of path: String) throws(StorageError) -> Int64? {
                guard access(path, F_OK) == 0 else { return nil }
                let connection = try Connection(path: path, mode: .readOnly)
                let isThere = try connection.integer("SELECT 1 FROM sqlite_schema WHERE name = '\(table)'") != nil
                return isThere ? try connection.integer("SELECT count(*) FROM (SELECT 1 FROM \(table) LIMIT 1)") : nil
            }
            let (commits, values) = try (rows("log", of: files.log), rows("row", of: files.tree))
            return (commits == nil || values == nil) && (commits ?? 0) == 0 && (values ?? 0) == 0
        } catch {
            throw BackupError(error)
        }
    }

    /// Appends to a chain the log's records after its end. Answers the last commit, and whether something was erased
    /// from the log since the chain's copy was made; nil if the log does not have the end, or the copy is lost.
    ///
    /// - parameter sequence: the last record that is appended.
    private func extend(
        _ chain: ArchiveFolder.Chain, from log: String, through sequence: UInt64 = .max
    ) throws(BackupError) -> (last: UInt64, isErased: Bool)? {
        let end: LogEnd?
        let isErased: Bool
        do throws(StorageError) {
            let source = try Connection(path: log, mode: .readOnly)
            guard let found = try Self.isErased(source, since: chain) else { return nil }
            isErased = found
            end = try Self.end(of: chain)
            if let end {
                guard try ArchiveSegment.has(end, in: source, mayBeErased: isErased) else { return nil }
            } else if let first = try source.integer("SELECT min(first) FROM log"), first != 1 {
                return nil
            }
        } catch {
            throw BackupError(error)
        }
        var last = end?.last ?? 0
        var first = end?.first ?? 0
        let edge = Int64(clamping: sequence)
        while let tail = try ArchiveSegment.make(from: log, after: first, through: edge, kind: .tail, in: chain.path) {
            guard tail.first == last + 1 else {
                unlink(tail.path)
                return nil
            }
            last = tail.last
            first = try Self.lastRow(of: tail)
        }
        try merge(chain)
        return (last, isErased)
    }

    /// Whether something was erased from a log since a chain's copy was made; nil if the copy is lost.
    private static func isErased(
        _ log: Connection, since chain: ArchiveFolder.Chain
    ) throws(StorageError) -> Bool? {
        let number = try LogFormat.erasure(in: log)
        guard access(chain.base, F_OK) == 0 else { return nil }
        do throws(StorageError) { return try chain.erasure() != number } catch .damaged { return nil }
    }

    private static func lastRow(of segment: ArchiveFolder.Segment) throws(BackupError) -> Int64 {
        do throws(StorageError) {
            let connection = try Connection(path: segment.path, mode: .readOnly)
            return try LogEnd(of: connection)?.first ?? 0
        } catch {
            throw BackupError(error)
        }
    }

    /// The last row of a chain; nil while nothing was ever written to the database.
    private static func end(of chain: ArchiveFolder.Chain) throws(StorageError) -> LogEnd? {
        let last = chain.segments.max { $0.last < $1.last }?.path ?? chain.base
        return try LogEnd(of: Connection(path: last, mode: .readOnly))
    }

    private func merge(_ chain: ArchiveFolder.Chain) throws(BackupError) {
        let segments = chain.segments
        let merged = segments.filter { $0.kind == .segment }.map(\.last).max() ?? 0
        // A crash may have left some that are in a segment already.
        for tail in segments where tail.kind == .tail && tail.last <= merged { unlink(tail.path) }
        let tails = segments.filter { $0.kind == .tail && $0.last > merged }
        guard tails.count >= settings.tailsMax else { return }
        try ArchiveSegment.merge(tails, in: chain.path)
        for tail in tails { unlink(tail.path) }
    }

    /// Begins a chain with a copy of the database. The one before is first extended to the end of the copy and no
    /// further, so that there is no moment between them that cannot be restored, and their ends tell so.
    private mutating func begin(
        after chain: ArchiveFolder.Chain?, log: String, _ progress: inout Progress
    ) throws(BackupError) {
        // Not the archive's own folder: without it, its disk is not mounted.
        let code = FolderSync.makeFolder(folder.path)
        guard code == 0 else { throw BackupError("cannot make \(folder.path)", code) }
        ArchiveFolder.remove(folder.new)
        guard mkdir(folder.new, 0o700) == 0 else { throw BackupError("cannot make \(folder.new)") }
        let base = try Backup.make(of: name, in: data, to: folder.new + "/base.backup", hasHistory: false, clock: clock)
        do throws(StorageError) { try LogSync.sync(log) } catch { throw BackupError(error) }
        if let chain, try extend(chain, from: log, through: base.sequence) == nil { progress.hasGap = true }
        let path = folder.chainPath(time: base.time, sequence: base.sequence)
        guard rename(folder.new, path) == 0 else { throw BackupError("cannot rename \(folder.new)") }
        try PartialFile.sync(folder.path)
        progress.sequence = max(progress.sequence, base.sequence)
        progress.madeBase = true
        current = path
    }

    /// Chains that this process finds are as old as the clock says when it finds them. A clock that is behind all of
    /// them has yet to be set: it tells nothing.
    private mutating func noteBirths(of chains: [ArchiveFolder.Chain], now: Int64) {
        if let first = chains.first, births.isEmpty, now < first.time { return }
        let uptime = uptime()
        births = births.filter { birth in chains.contains { $0.path == birth.key } }
        for chain in chains where births[chain.path] == nil { births[chain.path] = uptime - max(now - chain.time, 0) }
    }

    /// Removes the chains that are not needed for the window: those whose successor is older than it. The one
    /// that goes on stays, though the clock is or was wrong.
    private mutating func removeOld(now: Int64) -> [String] {
        let chains = folder.chains
        noteBirths(of: chains, now: now)
        let edge = uptime() - settings.window
        let old = zip(chains, chains.dropFirst()).map { (path: $0.path, next: $1.path) }
            .filter { $0.path != current && births[$0.next] ?? .max < edge }.map(\.path)
        for path in old { ArchiveFolder.remove(path) }
        return old
    }
}

/// Which file a name means, and when it was last written to.
private struct FileState: Equatable, Sendable {
    private let inode: UInt64
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    init(_ path: String) {
        var status = stat()
        let isThere = stat(path, &status) == 0
        inode = isThere ? UInt64(status.st_ino) : 0
        size = isThere ? Int64(status.st_size) : -1
        (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    }
}
