package import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthSQLite
package import HearthStorageErrors

/// Removes all that the files of a database have of the past of a place and below, so that it cannot be found in their
/// bytes. Its present value stays, and the history starts over with it. Events of triggers that wait and tell of the
/// place are dropped. No server may have the folder.
///
/// It rewrites the commit log, the tree's file and the history. Each of these steps can be repeated, so after a crash
/// it is run again. New files that were never put in the place of these are removed. Other copies are left alone, and
/// named.
package struct Erasure: Sendable {
    /// Records of the log, and changes of the history, from which something was removed.
    package private(set) var records = 0
    package private(set) var changes = 0
    /// Events of triggers that were dropped: those that waited to be sent, and those that were set aside.
    package private(set) var events = (waiting: 0, aside: 0)
    /// The place has a value, which stays.
    package private(set) var isStillThere = false
    /// Files in the folder that may have it too: backups, files that restores have put aside, and copies for the nodes
    /// of a cluster.
    package private(set) var copies: [String] = []

    /// - parameter folder: with its lock.
    /// - parameter patience: how long it waits for those who read a file, in milliseconds.
    /// - throws: ``StorageError/busy(_:)`` if the last server was not stopped in order: its log may be needed. The same
    ///   if somebody reads the files.
    package init(
        _ path: Path, of name: String, in folder: DataFolder, patience: Int = 10_000
    ) throws(StorageError) {
        // Large values of the past, if the server was killed while it read them.
        PastCopy.removeRemains(in: folder.path)
        let (log, tree) = try folder.open(name, newEpoch: .random(in: 0 ... .max))
        let reader = try tree.makeReader()
        guard tree.sequence == log.lastSequence, try reader.owedWrites().isEmpty else {
            throw .busy("the last server was not stopped in order: start one and stop it, then erase")
        }
        // Without the marker of a restore or an installation, for which the folder was just opened, nothing waits for
        // them: the process that made them has ended, and another one would begin with new ones.
        Backup.removeAll(DatabaseFiles(name: name + ".new", folder: folder.path))
        isStillThere = try TreeRows(store: reader).exists(path)
        var history: HistoryFile?
        if HistoryFile.exists(of: name, in: folder.path) {
            let file = try HistoryFile(name, in: folder.path, durability: .full)
            // Writes of others are kept as they are.
            try file.followForErasure()
            changes = try file.erase(path, present: TreeRows(store: reader), patience: patience)
            history = file
        }
        try history?.expectErasure()
        try log.connection.execute("PRAGMA busy_timeout = \(patience)")
        do throws(StorageError) {
            records = try log.erase(path)
        } catch {
            // Some records may be changed already.
            try? history?.notePosition()
            throw error
        }
        try history?.notePosition()
        events = try tree.removeEvents(concerning: path)
        try tree.removeObsoleteEntries(concerning: path)
        try tree.rewrite(patience: patience)
        // So that no file that was removed is there again after a loss of power.
        do throws(BackupError) { try PartialFile.sync(folder.path) } catch { throw .inputOutput(error.message) }
        copies = Self.copies(of: name, in: folder.path)
    }

    /// All files that begin with the database's name and a dot, which no other name has, but for those that were
    /// rewritten and those without values.
    private static func copies(of name: String, in folder: String) -> [String] {
        let files = DatabaseFiles(name: name, folder: folder)
        // Without the other file of a history, `NAME.past` is what a crash has left.
        let hasHistory = HistoryFile.exists(of: name, in: folder)
        let rewritten = files.all.filter { $0 != files.past || hasHistory }
        let others = files.notes + ["rules", "settings", "publication"].map { "\(folder)/\(name).\($0)" }
        let known = Set(
            rewritten.flatMap { file in DatabaseFiles.suffixes.map { file + $0 } }
                + others.flatMap { file in ["", ".part", ".new"].map { file + $0 } })
        let copies = FolderContents(folder).files.filter { $0.hasPrefix("\(name).") }.map { "\(folder)/\($0)" }
        let backups = FolderContents(folder + "/backups").files.filter { $0.hasPrefix("\(name)-") }
        return copies.filter { !known.contains($0) }.sorted() + backups.sorted().map { "\(folder)/backups/\($0)" }
    }
}

extension TreeFile {
    /// Removes the entries of indexes that a server would remove at some time, as far as they may tell of a place.
    fileprivate func removeObsoleteEntries(concerning path: Path) throws(StorageError) {
        let obsolete = try ObsoleteEntries(of: try makeReader(), concerning: path)
        var start: [UInt8]? = []
        while let next = start {
            start = try sweepEntries(from: next) { (key) throws(StorageError) in try obsolete.contains(key) }
        }
    }
}

extension HistoryFile {
    /// Brings the places that it has up to the end of the log.
    fileprivate func followForErasure() throws(StorageError) {
        try follow(places.map { HistoryDefinition(pattern: $0.kept.pattern, keep: nil) })
    }

    /// A crash may come between the log's change and ``notePosition()``.
    fileprivate func expectErasure() throws(StorageError) {
        if places.isEmpty { return }
        try expectErasure(in: Connection(path: DatabaseFiles(name: name, folder: folder).log, mode: .readOnly))
    }

    /// The row by which it knows the log may have changed: a record without a link, as those of a backup, has another
    /// checksum.
    fileprivate func notePosition() throws(StorageError) {
        if places.isEmpty { return }
        let log = try Connection(path: DatabaseFiles(name: name, folder: folder).log, mode: .readOnly)
        try connection.transaction { () throws(StorageError) in try setPosition(sequence, in: log) }
    }
}
