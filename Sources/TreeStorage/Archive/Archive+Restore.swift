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
    /// What was made by a moment is told by the times of commits. They are in the order of commits unless the clock was
    /// wrong and then set back. So a restore ends with the commit of the latest time that is not after the moment: not
    /// at one of a clock that was ahead, if others follow, nor at one of a clock that began in the past. Where a clock
    /// has shown the same times twice, for example 10:00 to 11:00 before it was set back, it may be either of the two.
    ///
    /// - parameter time: in milliseconds since 1970. Nil for the end of the archive.
    package static func restore(
        _ archive: String, database: String, at time: Int64?, as name: String?, in data: String,
        lockedBy owner: DataFolder? = nil, whenChecked: (Backup.Summary) -> Void
    ) throws(BackupError) -> Backup.Restored {
        let chains = ArchiveFolder(archive, database: database).chains
        guard let chain = chains.last(where: { $0.time <= time ?? .max }) else {
            let what = chains.isEmpty ? "has no copy of \(database)" : "begins later"
            throw BackupError(message: "the archive \(archive) \(what)")
        }
        let segments: [Segment]
        let end: Int64
        do throws(StorageError) {
            (segments, end) = try commits(of: chain, and: chains, through: time)
            for segment in segments { _ = try ArchiveSegment.check(segment) }
        } catch {
            throw BackupError(error)
        }
        return try Backup.restore(chain.base, as: name, in: data, lockedBy: owner, whenChecked: whenChecked) {
            (connection) throws(StorageError) in
            for segment in segments { try ArchiveSegment.append(segment.path, through: end, to: connection) }
        }
    }

    /// The segments with the commits after a copy and up to a moment, and the number of the last of their rows. They
    /// may be in chains of later copies, if the clock was ahead when those were made.
    private static func commits(
        of chain: Chain, and chains: [Chain], through time: Int64?
    ) throws(StorageError) -> (segments: [Segment], end: Int64) {
        guard let time else { return (chain.segments, .max) }
        var segments = chain.segments
        var others = chains.filter { $0 != chain }
        while let index = try indexOfNext(others, after: segments) { segments += others.remove(at: index).segments }
        let own = try ArchiveSegment.lastRow(of: chain.base, by: .max)?.time ?? 0
        var last = (time: min(own, chain.time), first: 0 as Int64)
        for segment in segments {
            guard let row = try ArchiveSegment.lastRow(of: segment.path, by: time), row >= last else { continue }
            last = row
        }
        return (segments.filter { $0.first <= last.first }, last.first)
    }

    /// The chain whose copy ends at a row of some segments: it goes on with their log.
    private static func indexOfNext(
        _ chains: [Chain], after segments: [Segment]
    ) throws(StorageError) -> Int? {
        for (index, chain) in chains.enumerated() {
            guard let end = try ArchiveSegment.end(of: Connection(path: chain.base, mode: .readOnly)) else { continue }
            for segment in segments where segment.first <= end.last && end.last <= segment.last {
                if try ArchiveSegment.has(end, in: Connection(path: segment.path, mode: .readOnly)) { return index }
            }
        }
        return nil
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
