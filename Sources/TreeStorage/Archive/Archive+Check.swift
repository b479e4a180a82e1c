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

    /// Reads everything in the archive of a database. Throws if anything is damaged. A gap ends a window. The archive
    /// may be written meanwhile: if files are gone then, those that took their places are read.
    ///
    /// - parameter whenListed: told before the files of a listing are read.
    package static func check(
        _ archive: String, database: String, whenListed: () -> Void = {}
    ) throws(BackupError) -> [Window] {
        let folder = ArchiveFolder(archive, database: database)
        var listing = Listing(folder, hasRemains: true)
        var files = CheckedFiles()
        while true {
            whenListed()
            do throws(BackupError) {
                return try windows(of: database, listing, &files)
            } catch {
                let next = Listing(folder, hasRemains: true)
                if files.hasDamage || next == listing { throw error }
                listing = next
            }
        }
    }

    private static func windows(
        of database: String, _ listing: Listing, _ files: inout CheckedFiles
    ) throws(BackupError) -> [Window] {
        var windows: [Window] = []
        for (index, chain) in listing.chains.enumerated() {
            let base = try files.check(chain)
            var window = Window(
                database: database, begin: base.time, sequence: base.sequence, end: base.time, copies: 1, segments: 0,
                byteCount: Int64(base.byteCount))
            for segment in listing.segments[index] where segment.last > window.sequence {
                guard segment.first <= window.sequence + 1 else {
                    throw BackupError(.damaged("\(chain.path): commits before \(segment.first) are missing"))
                }
                let found = try files.check(segment)
                window.sequence = segment.last
                window.end = max(found.time, window.end)
                window.segments += 1
                window.byteCount += found.byteCount
            }
            if let last = windows.last, last.end <= window.end, listing.continues(index - 1, in: index) {
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

    /// The files that were read. They never change, so another listing needs none of them to be read again.
    private struct CheckedFiles {
        private var bases: [String: Backup.Summary] = [:]
        private var segments: [String: (time: Int64, byteCount: Int64)] = [:]
        /// Whether a file could not be read that is there.
        private(set) var hasDamage = false

        mutating func check(_ chain: Chain) throws(BackupError) -> Backup.Summary {
            if let base = bases[chain.base] { return base }
            do throws(BackupError) {
                let base = try Backup.check(chain.base)
                bases[chain.base] = base
                return base
            } catch {
                hasDamage = access(chain.base, F_OK) == 0
                throw error
            }
        }

        mutating func check(_ segment: Segment) throws(BackupError) -> (time: Int64, byteCount: Int64) {
            if let found = segments[segment.path] { return found }
            do throws(StorageError) {
                let byteCount = Backup.size(of: segment.path)
                let found = (try ArchiveSegment.check(segment).time, Int64(byteCount))
                segments[segment.path] = found
                return found
            } catch {
                hasDamage = access(segment.path, F_OK) == 0
                throw BackupError(error)
            }
        }
    }
}
