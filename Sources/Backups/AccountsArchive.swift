import Glibc
import HearthSystem
package import HearthTreeStorage

/// The part of an archive that belongs to no database: copies of the accounts, keys, rules and settings of a data
/// folder, made after they have changed. `DIR/.accounts/hearth-TIME`, each a ``BackupSet`` without databases.
package struct AccountsArchive: Sendable {
    /// Where the copies are.
    package let path: String
    private let data: String
    private let window: Int64
    /// The files as they were when they were last copied.
    private var archived: [String: FileStamp] = [:]
    /// The copy that was made of them.
    private var last: String?
    /// Before this moment no other copy is made, so that copies of many accounts do not keep the disk busy.
    private var due = MonotonicTime.current
    /// The time between two copies is at least so many times the duration of a copy.
    private static let restFactor: Int64 = 20

    /// The outcome of a step.
    package enum Progress: Equatable, Sendable {
        /// All of it is in the archive, or there is nothing to archive.
        case unchanged
        case copied(path: String)
        /// It has changed, but the last copy was made a short time ago.
        case waiting
    }

    /// - parameters:
    ///   - data: the data folder.
    ///   - archive: a folder that is there.
    ///   - window: how far back a restore can reach at least, in milliseconds.
    package init(of data: String, in archive: String, window: Int64) {
        self.data = data
        self.window = window
        path = Self.path(in: archive)
    }

    private static func path(in archive: String) -> String { "\(archive)/.accounts" }

    /// Makes a copy if something has changed, or the last copy is gone. Costs a look at the folder if not.
    ///
    /// - parameter isLast: the server stops, and its last changes are not to wait.
    package mutating func advance(now: Int64, isLast: Bool = false) throws(BackupError) -> Progress {
        let stamps = self.stamps
        if stamps.isEmpty { return .unchanged }
        if stamps == archived, let last, BackupSet.isSet(last) { return .unchanged }
        let start = MonotonicTime.current
        if !isLast, start < due { return .waiting }
        // A process that was killed may have left some, with hashes of passwords.
        BackupSet.removeRemains(in: path)
        let set = try BackupSet.make(of: data, in: path, now: now, hasDatabases: false)
        (archived, last) = (stamps, set.path)
        let end = MonotonicTime.current
        due = end + .nanoseconds((end.nanoseconds - start.nanoseconds) * Self.restFactor)
        let sets = BackupSet.list(in: path)
        for index in Self.dispensable(sets.map(\.time), window: window, now: now) where sets[index].path != last {
            BackupSet.remove(sets[index].path)
        }
        return .copied(path: set.path)
    }

    /// The state of each file that a copy would have.
    private var stamps: [String: FileStamp] {
        var stamps: [String: FileStamp] = [:]
        for file in FolderContents(data).files where BackupSet.isKept(file) || file.hasPrefix(BackupSet.accounts) {
            // The index of the log changes with readers.
            if !file.hasSuffix("-shm") { stamps[file] = FileStamp("\(data)/\(file)") }
        }
        return stamps
    }

    /// Which copies can go: all but the last one of each hour, after a week of each day, in the window, and the one
    /// before.
    ///
    /// - parameter times: in milliseconds since 1970, in their order.
    static func dispensable(_ times: [Int64], window: Int64, now: Int64) -> [Int] {
        let (hour, day): (Int64, Int64) = (3_600_000, 86_400_000)
        return times.indices.dropLast().filter { index in
            let (time, next) = (times[index], times[index + 1])
            let period = now - time < 7 * day ? hour : day
            return next < now - window || time / period == next / period
        }
    }

    // MARK: Restoring

    /// The copies in an archive, the oldest first.
    package static func copies(in archive: String) -> [BackupSet] { BackupSet.list(in: path(in: archive)) }

    /// Reads all copies, and answers them, but for those that a server removes meanwhile.
    package static func check(_ archive: String) throws(BackupError) -> [BackupSet] {
        var checked: [BackupSet] = []
        for copy in copies(in: archive) { if let copy = try check(copy) { checked.append(copy) } }
        return checked
    }

    /// Nil if a server has removed the copy.
    private static func check(_ copy: BackupSet) throws(BackupError) -> BackupSet? {
        do throws(BackupError) { return try BackupSet.check(copy.path) } catch {
            if BackupSet.isSet(copy.path) { throw error }
            return nil
        }
    }

    /// The state at a moment: the last copy that is not later, or the first one if all are. Nil without copies.
    ///
    /// - parameter time: in milliseconds since 1970; nil for the last one.
    package static func copy(in archive: String, at time: Int64?) -> BackupSet? {
        let copies = copies(in: archive)
        return copies.last { $0.time <= time ?? .max } ?? copies.first
    }

    /// The same, when all of it was read.
    package static func checkedCopy(in archive: String, at time: Int64?) throws(BackupError) -> BackupSet? {
        while let copy = copy(in: archive, at: time) { if let copy = try check(copy) { return copy } }
        return nil
    }
}
