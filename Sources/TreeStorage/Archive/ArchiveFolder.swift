import Glibc
import HearthSQLite
import HearthStorageErrors

/// The names in an archive of databases:
///
/// ```
/// DIR/DATABASE/TIME-SEQUENCE/base.backup              a copy of the database (Backup), made at TIME, up to SEQUENCE
/// DIR/DATABASE/TIME-SEQUENCE/FIRST-LAST.segment       commits of the log after the copy (ArchiveSegment)
/// DIR/DATABASE/TIME-SEQUENCE/FIRST-LAST.tail          the same, to be merged into a segment
/// DIR/DATABASE/new                                    a copy that is being made
/// ```
/// A copy and its segments are a chain: together they hold every commit from the copy to the last segment. Numbers have
/// twenty digits, so names sort by them. Files are never changed: they get their names when they are whole and on disk.
package struct ArchiveFolder: Sendable {
    /// Of one database.
    package let path: String

    package init(_ archive: String, database: String) { path = "\(archive)/\(database)" }

    /// The databases in an archive, sorted.
    package static func databases(in archive: String) -> [String] {
        FolderContents(archive).files.filter { name in
            DatabaseName.isValid(name) && !ArchiveFolder(archive, database: name).chains.isEmpty
        }.sorted()
    }

    static func number(_ value: UInt64) -> String {
        let digits = String(value)
        return String(repeating: "0", count: 20 - digits.count) + digits
    }

    package struct Chain: Hashable, Sendable {
        package let path: String
        /// When its copy was complete, in milliseconds since 1970.
        package let time: Int64
        /// The last commit in the copy.
        package let sequence: UInt64

        package var base: String { path + "/base.backup" }

        /// The number of the last erasing in the log when its copy was made.
        func erasure() throws(StorageError) -> Int64? {
            try Backup.erasure(in: Connection(path: base, mode: .readOnly))
        }

        init?(_ name: String, in folder: String) {
            let parts = name.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 2, let time = Int64(parts[0]), time < 1 << 53, let sequence = UInt64(parts[1]) else {
                return nil
            }
            path = "\(folder)/\(name)"
            self.time = time
            self.sequence = sequence
        }

        /// In the order of their commits. If a crash has left tails along with the segment that was made of them, the
        /// segment comes first.
        package var segments: [Segment] {
            FolderContents(path).files.compactMap { Segment($0, in: path) }.sorted {
                ($0.first, $1.last) < ($1.first, $0.last)
            }
        }
    }

    package struct Segment: Hashable, Sendable {
        package enum Kind: String, Sendable { case tail, segment }

        package let path: String
        package let kind: Kind
        /// Its commits: their numbers in the log.
        package let first: UInt64
        package let last: UInt64

        init(first: UInt64, last: UInt64, kind: Kind, in chain: String) {
            path = "\(chain)/\(ArchiveFolder.number(first))-\(ArchiveFolder.number(last)).\(kind.rawValue)"
            (self.first, self.last, self.kind) = (first, last, kind)
        }

        init?(_ name: String, in chain: String) {
            let parts = name.split(whereSeparator: { $0 == "-" || $0 == "." })
            guard parts.count == 3, let first = UInt64(parts[0]), let last = UInt64(parts[1]),
                let kind = Kind(rawValue: String(parts[2])), first > 0
            else { return nil }
            self.init(first: first, last: last, kind: kind, in: chain)
        }
    }

    /// Where a copy is made before its chain begins.
    var new: String { path + "/new" }

    func chainPath(time: Int64, sequence: UInt64) -> String {
        "\(path)/\(Self.number(UInt64(max(time, 0))))-\(Self.number(sequence))"
    }

    /// The oldest first.
    package var chains: [Chain] {
        FolderContents(path).files.compactMap { Chain($0, in: path) }.sorted {
            ($0.time, $0.sequence) < ($1.time, $1.sequence)
        }
    }

    /// Removes a folder of files.
    static func remove(_ path: String) {
        // Without its copy it is no longer a chain, even if the rest is not removed.
        unlink(path + "/base.backup")
        for file in FolderContents(path).files { unlink("\(path)/\(file)") }
        rmdir(path)
    }
}
