import HearthRealtimeDatabase
import HearthStorageErrors
import HearthTreeStorage

/// The databases that were closed because they were not used. The next request opens them again; requests that come
/// while the files are being closed wait for the end of that.
struct ClosedDatabases {
    private struct Entry {
        let files: FilesInPlace
        /// Nil once the files are closed.
        var waiting: [Request]? = []
        /// Called once the files are closed.
        var then: [() -> Void] = []
        /// When its log has something to lose, in milliseconds of uptime.
        var pruneAt: Int64?
    }

    private var entries: [UInt32: Entry] = [:]

    func has(_ index: UInt32) -> Bool { entries[index] != nil }

    /// Files are being closed.
    var isClosing: Bool { entries.values.contains { $0.waiting != nil } }

    /// The files of this one are.
    func isClosing(_ index: UInt32) -> Bool { entries[index]?.waiting != nil }

    mutating func begin(_ index: UInt32, _ files: FilesInPlace) {
        entries[index] = Entry(files: files)
    }

    /// The files are closed. Returns the requests that wait.
    mutating func end(_ index: UInt32, pruneAt: Int64?) -> [Request] {
        entries[index]?.pruneAt = pruneAt
        defer { entries[index]?.waiting = nil }
        return entries[index]?.waiting ?? []
    }

    /// Has a function called once the files are closed. False if they are not being closed.
    mutating func whenClosed(_ index: UInt32, _ then: @escaping () -> Void) -> Bool {
        guard isClosing(index) else { return false }
        entries[index]?.then.append(then)
        return true
    }

    /// The functions to call now that the files are closed.
    mutating func takeWhenClosed(_ index: UInt32) -> [() -> Void] {
        defer { entries[index]?.then = [] }
        return entries[index]?.then ?? []
    }

    /// The database is open again.
    mutating func remove(_ index: UInt32) { entries[index] = nil }

    /// Whether nothing needs to be done about requests now: they wait, or say that a connection ends that has left
    /// nothing here.
    mutating func hold(_ requests: [Request], of index: UInt32) -> Bool {
        guard let entry = entries[index] else { return false }
        if entry.waiting != nil {
            entries[index]?.waiting?.append(contentsOf: requests)
            return true
        }
        return requests.allSatisfy(\.operation.isOfEnd)
    }

    /// Throws if the files of a closed database are not those that were closed.
    func verify(_ index: UInt32) throws(StorageError) { try entries[index]?.files.verify() }

    /// The closed databases whose files are gone, and why they cannot be opened.
    func missing() -> [(index: UInt32, error: StorageError)] {
        var missing: [(UInt32, StorageError)] = []
        for index in entries.keys.sorted() {
            do throws(StorageError) { try verify(index) } catch { missing.append((index, error)) }
        }
        return missing
    }

    /// A closed database whose log has something to lose by now, and that can be opened for that.
    func duePruning(at uptime: Int64, except cannotBeOpened: (UInt32) -> Bool = { _ in false }) -> UInt32? {
        entries.filter { index, entry in
            entry.waiting == nil && entry.pruneAt.map { $0 <= uptime } ?? false && !cannotBeOpened(index)
        }.keys.min()
    }
}
