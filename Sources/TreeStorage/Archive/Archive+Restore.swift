import Glibc
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
        let (chain, parts) = try Self.parts(of: archive, database, through: time)
        return try Backup.restore(chain.base, as: name, in: data, lockedBy: owner, whenChecked: whenChecked) {
            (connection) throws(StorageError) in
            for part in parts { try ArchiveSegment.append(part.segment.path, through: part.end, to: connection) }
        }
    }

    /// A segment as far as a restore takes it: up to a row.
    private struct Part {
        let segment: Segment
        var end: Int64 = .max
        /// Whether it is of a later chain than the copy.
        var isOfLater = false
    }

    /// The chain whose copy a restore begins with, and what follows the copy; all of that is whole. The archive may be
    /// written meanwhile: if something is missing then, it is looked for again.
    private static func parts(
        of archive: String, _ database: String, through time: Int64?
    ) throws(BackupError) -> (Chain, [Part]) {
        let folder = ArchiveFolder(archive, database: database)
        var listing = Listing(folder)
        while true {
            guard let index = listing.chains.lastIndex(where: { $0.time <= time ?? .max }) else {
                let what = listing.chains.isEmpty ? "has no copy of \(database)" : "begins later"
                throw BackupError(message: "the archive \(archive) \(what)")
            }
            do throws(StorageError) {
                let parts = try listing.parts(after: index, through: time)
                for part in parts { _ = try ArchiveSegment.check(part.segment) }
                return (listing.chains[index], parts)
            } catch {
                let next = Listing(folder)
                if next == listing { throw BackupError(error) }
                listing = next
            }
        }
    }

    /// The chains of an archive at some time, the oldest first, and the segments of each. One without its copy is being
    /// removed.
    private struct Listing: Equatable {
        let chains: [Chain]
        private let segments: [[Segment]]

        init(_ folder: ArchiveFolder) {
            chains = folder.chains.filter { access($0.base, F_OK) == 0 }
            segments = chains.map(\.segments)
        }

        /// The commits after the copy of a chain and up to a moment. They may be in chains of later copies, if the
        /// clock was ahead when those were made: then some of these have a later time than all of the chain itself.
        func parts(after index: Int, through time: Int64?) throws(StorageError) -> [Part] {
            let own = segments[index].map { Part(segment: $0) }
            guard let time else { return own }
            let base = try ArchiveSegment.lastTime(of: chains[index].base) ?? 0
            let first = (time: min(base, chains[index].time), first: 0 as Int64)
            var best = try selection(of: own, by: time, after: first)
            for line in lines(own, after: index) {
                let next = try selection(of: line, by: time, after: first)
                if next.last.time > best.last.time { best = next }
            }
            return best.parts
        }

        /// The parts of segments up to the row that has the latest time up to a moment, and that row.
        private func selection(
            of line: [Part], by time: Int64, after first: (time: Int64, first: Int64)
        ) throws(StorageError) -> (parts: [Part], last: (time: Int64, first: Int64)) {
            var (parts, last) = (line, first)
            var isPast = false
            for (number, part) in line.enumerated() {
                do throws(StorageError) {
                    let path = part.segment.path
                    if let row = try ArchiveSegment.lastRow(of: path, by: time, through: part.end), row >= last {
                        last = row
                    }
                    if try ArchiveSegment.lastTime(of: path) ?? 0 > time { isPast = true }
                } catch {
                    // What comes before it is what there was at the moment, unless the clock was wrong: damage to the
                    // rest of an archive must not keep this from being restored.
                    guard isPast || part.isOfLater else { throw error }
                    parts.removeSubrange(number...)
                    break
                }
            }
            parts.removeAll { $0.segment.first > last.first }
            for index in parts.indices { parts[index].end = min(parts[index].end, last.first) }
            return (parts, last)
        }

        /// The segments of a chain with those of later chains that go on with its log: with the first of these, with
        /// the first two, and so on. Where one goes on from a row in the middle, as after a restore of that moment, the
        /// rows after it were given up.
        private func lines(_ own: [Part], after index: Int) -> [[Part]] {
            var lines: [[Part]] = []
            var parts = own
            var base = own.isEmpty ? chains[index].base : nil
            var later = Array((index + 1)..<chains.count)
            while let (place, end) = next(later, after: base, parts) {
                let index = later.remove(at: place)
                base = segments[index].isEmpty ? chains[index].base : nil
                parts.removeAll { $0.segment.first > end.last }
                for index in parts.indices { parts[index].end = min(parts[index].end, end.first) }
                parts += segments[index].map { Part(segment: $0, isOfLater: true) }
                lines.append(parts)
            }
            return lines
        }

        /// The first chain whose copy ends at a row of some segments, or where another copy does that has none: if it
        /// has some, the chain may be the one that was given up. What cannot be read has no such row.
        private func next(
            _ later: [Int], after base: String?, _ parts: [Part]
        ) -> (place: Int, end: LogEnd)? {
            func end(of path: String) -> LogEnd? {
                try? LogEnd(of: Connection(path: path, mode: .readOnly))
            }
            for (place, index) in later.enumerated() {
                guard let found = end(of: chains[index].base) else { continue }
                if let base, end(of: base) == found { return (place, found) }
                for part in parts
                where part.segment.first <= found.last && found.last <= part.segment.last && found.first <= part.end {
                    let path = part.segment.path
                    let has = try? ArchiveSegment.has(found, in: Connection(path: path, mode: .readOnly))
                    if has == true { return (place, found) }
                }
            }
            return nil
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
