import HearthSQLite
import HearthStorageErrors

extension ArchiveFolder {
    /// Where commits before a moment may be missing: the chain of the moment ends, and the next one does not go on with
    /// it. In milliseconds since 1970.
    package struct Missing: Hashable, Sendable {
        /// The last commit.
        package var after: Int64
        /// The next copy.
        package var before: Int64
    }

    package struct Restored: Hashable, Sendable {
        package var files: Backup.Restored
        /// The last commit.
        package var sequence: UInt64
        /// Its time, in milliseconds since 1970; nil without a commit.
        package var time: Int64?
        /// Whether the archive has no commits after that, and the moment is later: it cannot tell whether there were
        /// some before the moment.
        package var isAtEnd: Bool
    }

    /// Puts a database as it was at a moment in its place in a data folder, as ``Backup/restore(_:as:in:whenChecked:)``
    /// does. All that is read is checked first.
    ///
    /// What was made by a moment is told by the times of commits. They are in the order of commits unless the clock was
    /// wrong and then set back. So a restore ends with the commit of the latest time that is not after the moment: not
    /// at one of a clock that was ahead, if others follow, nor at one of a clock that began in the past. Where a clock
    /// has shown the same times twice, for example 10:00 to 11:00 before it was set back, it may be either of the two.
    ///
    /// - parameter time: in milliseconds since 1970. Nil for the end of the archive.
    @discardableResult
    package static func restore(
        _ archive: String, database: String, at time: Int64?, as name: String?, in data: String,
        lockedBy owner: DataFolder? = nil, whenChecked: (Backup.Summary) -> Void
    ) throws(BackupError) -> Restored {
        while true {
            let selection = try selection(of: archive, database, through: time)
            var end: LogEnd?
            do throws(BackupError) {
                let files = try Backup.restore(
                    selection.chain.base, as: name, in: data, lockedBy: owner, whenChecked: whenChecked
                ) { (connection) throws(StorageError) in
                    for part in selection.parts {
                        try ArchiveSegment.append(part.segment.path, through: part.end, to: connection)
                    }
                    end = try LogEnd(of: connection)
                }
                return Restored(
                    files: files, sequence: end?.last ?? 0, time: end?.time, isAtEnd: selection.isAtEnd)
            } catch {
                // Segments may have been merged meanwhile: the next selection has others.
                if selection.isThere { throw error }
            }
        }
    }

    /// The commits before a moment that a restore of it may lack; nil if it has all of them, or the archive ends there.
    ///
    /// - parameter time: in milliseconds since 1970. Nil for the end of the archive.
    package static func missing(
        in archive: String, database: String, at time: Int64?
    ) throws(BackupError) -> Missing? {
        try selection(of: archive, database, through: time, isChecked: false).missing
    }

    /// The chain whose copy a restore begins with, and what follows the copy; that is whole if it is checked. The
    /// archive may be written meanwhile: if something is missing then, it is looked for again.
    private static func selection(
        of archive: String, _ database: String, through time: Int64?, isChecked: Bool = true
    ) throws(BackupError) -> Selection {
        let folder = ArchiveFolder(archive, database: database)
        var listing = Listing(folder)
        while true {
            guard let index = listing.chains.lastIndex(where: { $0.time <= time ?? .max }) else {
                let what = listing.chains.isEmpty ? "has no copy of \(database)" : "begins later"
                throw BackupError(message: "the archive \(archive) \(what)")
            }
            do throws(StorageError) {
                let selection = try listing.selection(from: index, through: time)
                if isChecked { for part in selection.parts { _ = try ArchiveSegment.check(part.segment) } }
                return selection
            } catch {
                let next = Listing(folder)
                if next == listing { throw BackupError(error) }
                listing = next
            }
        }
    }
}
