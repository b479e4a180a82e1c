import Glibc
import HearthServerFiles
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

/// Looks for damage in the files of a database, whether a server has them open or not. Changes nothing.
package struct DatabaseCheck: Sendable {
    /// The last operation, and how many rows and turns of the log there are, as far as they could be read.
    package private(set) var sequence: UInt64 = 0
    package private(set) var rows = 0
    /// Damaged parts and newer formats, one line each; at most ``problemsMax``.
    package private(set) var problems: [String] = []
    package static let problemsMax = 100
    /// Problems that are files of a newer format.
    private var newerFiles = 0

    /// Whether nothing is known to be damaged, but a file has a newer format than this version reads.
    package var isNewer: Bool { newerFiles > 0 && newerFiles == problems.count }

    /// Reads all of the database; flat memory.
    ///
    /// - parameter isServed: a server may have the database open. Its write-ahead files change meanwhile, so they are
    ///   only read as SQLite reads them.
    package init(_ name: String, in folder: String, isServed: Bool) {
        precondition(DatabaseName.isValid(name))
        let files = DatabaseFiles(name: name, folder: folder)
        if access(files.restoring, F_OK) == 0 { add(StorageError.interruptedRestore(database: name).message) }
        if !isServed {
            let damaged = [files.log, files.tree].filter { WriteAheadFile.hasLostCommits($0 + "-wal") }
            // A node of a cluster reads from etcd what its log has lost with the power.
            for file in damaged where file != files.log || !LogFormat.isOfCluster(files.log) {
                add("\(file)-wal: commits that were on the disk are lost")
            }
        }
        // The tree first: the log that is read later has everything that its rows include. A server may have removed
        // records from it that they did not include yet.
        let reached = checkTree(files.tree)
        checkLog(files.log, reaching: isServed ? nil : reached)
    }

    private mutating func add(_ problem: String) {
        if problems.count < Self.problemsMax { problems.append(problem) }
    }

    private mutating func collect(_ file: String, _ body: (inout Self) throws(StorageError) -> Void) {
        do throws(StorageError) {
            try body(&self)
        } catch .newerFormat(let path, let found, let known) {
            add(StorageError.newerFormat(path: path, found: found, known: known).message)
            newerFiles += 1
        } catch .damaged(let detail) {
            add("\(file): \(detail)")
        } catch {
            add("\(file): \(error.message)")
        }
    }

    private static func checkStructure(_ connection: Connection) throws(StorageError) {
        let check = try connection.prepare("PRAGMA integrity_check(1)")
        guard try check.step(), check.text(0) == "ok" else { throw .damaged(check.text(0)) }
    }

    /// Answers how far the rows reach.
    private mutating func checkTree(_ file: String) -> UInt64? {
        var reached: UInt64?
        collect(file) { (result) throws(StorageError) in
            let connection = try Connection(path: file, mode: .readOnly)
            // One state of the file for all that follows.
            try connection.execute("BEGIN")
            let format = try connection.formatVersion(upTo: TreeFormat.version)
            result.collect(file) { (_) throws(StorageError) in try Self.checkStructure(connection) }
            if format > 0 {
                var found: [String] = []
                do throws(StorageError) {
                    try TreeCheck.run(connection) { found.append($0) }
                } catch {
                    found.append(error.message)
                }
                for problem in found { result.add("\(file): \(problem)") }
            }
            let sequence = try connection.integer("SELECT value FROM meta WHERE name = 'sequence'") ?? -1
            guard sequence >= 0 else { throw .damaged("it does not say how far its rows reach") }
            reached = UInt64(sequence)
            try Backup.checkOwed(connection)
            result.rows = try Backup.checkLiveRows(connection, stamp: Backup.stamp(connection, sequence)).count
        }
        return reached
    }

    private mutating func checkLog(_ file: String, reaching sequence: UInt64?) {
        collect(file) { (result) throws(StorageError) in
            let connection = try Connection(path: file, mode: .readOnly)
            try connection.execute("BEGIN")
            _ = try connection.formatVersion(upTo: LogFormat.version)
            try Self.checkStructure(connection)
            result.sequence = try Backup.checkLog(connection, after: sequence)
        }
    }
}
