import HearthSQLite
import HearthStorageErrors

extension ArchiveFolder {
    /// The moments that can be restored, without the gaps in between.
    package struct Window: Hashable, Sendable {
        package var database: String
        /// In milliseconds since 1970.
        package var begin: Int64
        /// The last commit and its time; without commits, those of the copy.
        package var sequence: UInt64
        package var end: Int64
        package var copies: Int
        package var segments: Int
        package var byteCount: Int64
    }

    /// Puts a database as it was at a moment in its place in a data folder, as ``Backup/restore(_:as:in:whenChecked:)``
    /// does. All that is read is checked first.
    ///
    /// - parameter time: in milliseconds since 1970: commits up to it are there, later ones are not. Nil for the end of
    ///   the archive.
    package static func restore(
        _ archive: String, database: String, at time: Int64?, as name: String?, in data: String,
        lockedBy owner: DataFolder? = nil, whenChecked: (Backup.Summary) -> Void
    ) throws(BackupError) -> Backup.Restored {
        let chains = ArchiveFolder(archive, database: database).chains
        guard let chain = chains.last(where: { $0.time <= time ?? .max }) else {
            let what = chains.isEmpty ? "has no copy of \(database)" : "begins later"
            throw BackupError(message: "the archive \(archive) \(what)")
        }
        let segments = chain.segments
        do throws(StorageError) {
            for segment in segments { _ = try ArchiveSegment.check(segment) }
        } catch {
            throw BackupError(error)
        }
        return try Backup.restore(chain.base, as: name, in: data, lockedBy: owner, whenChecked: whenChecked) {
            (connection) throws(StorageError) in
            for segment in segments {
                guard try ArchiveSegment.append(segment.path, through: time ?? .max, to: connection) else { return }
            }
        }
    }

    /// Reads everything in the archive of a database. Throws if anything is damaged. A gap ends a window.
    package static func check(_ archive: String, database: String) throws(BackupError) -> [Window] {
        var windows: [Window] = []
        for chain in ArchiveFolder(archive, database: database).chains {
            let base = try Backup.check(chain.base)
            var window = Window(
                database: database, begin: base.time, sequence: base.sequence, end: base.time, copies: 1, segments: 0,
                byteCount: Int64(base.byteCount))
            do throws(StorageError) {
                for segment in chain.segments where segment.last > window.sequence {
                    guard segment.first <= window.sequence + 1 else {
                        throw .damaged("\(chain.path): commits before \(segment.first) are missing")
                    }
                    let found = try ArchiveSegment.check(segment)
                    window.sequence = found.end.last
                    window.end = max(found.time, window.end)
                    window.segments += 1
                    window.byteCount += Int64(Backup.size(of: segment.path))
                }
            } catch {
                throw BackupError(error)
            }
            // The chain before reaches to this copy, or there is a gap.
            if let last = windows.last, last.sequence >= base.sequence, last.end <= window.end {
                windows[windows.count - 1].sequence = window.sequence
                windows[windows.count - 1].end = window.end
                windows[windows.count - 1].copies += 1
                windows[windows.count - 1].segments += window.segments
                windows[windows.count - 1].byteCount += window.byteCount
            } else {
                windows.append(window)
            }
        }
        return windows
    }
}
