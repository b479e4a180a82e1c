import Glibc
package import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
package import HearthStorageErrors
import Synchronization

/// A value of the past.
package enum PastValue: Sendable {
    case whole(CanonicalJSON)
    /// Too large for memory.
    case rows(PastRows)
}

/// The rows of a value, in a file that goes with its reader.
package struct PastRows: Sendable {
    package let snapshot: TreeReader
    /// Where the value is in it.
    package let path: Path
    /// About as many as the text has.
    package let byteCount: Int
    /// Kept as long as the file.
    package var place: PastCopyPlaces.Place?
}

/// Puts a value of the past together in a temporary file, where it may be larger than memory. Memory holds a change at
/// a time, and a few MiB of rows. Costs time in proportion to the changes that are kept at, above and below the place,
/// and to the value.
package final class PastCopy: @unchecked Sendable {
    // Safe because: one thread at a time uses it; the keeper's thread makes it and hands it over.

    /// The history as it was when this was made.
    private struct Source {
        let changes: Connection
        let past: TreeReader
    }

    private let path: Path
    private let sequence: UInt64
    private let places: [HistoryFile.Place]
    private let file: String
    private var source: Source?

    private static let count = Atomic(0)
    private static let changesPerCheck = 256
    private static let mark = ".past-copy-"

    fileprivate init(
        of path: Path, after sequence: UInt64, _ places: [HistoryFile.Place], _ history: HistoryFile
    ) throws(StorageError) {
        (self.path, self.sequence, self.places) = (path, sequence, places)
        let number = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
        file = "\(history.folder)/\(history.name)\(Self.mark)\(number)"
        let changes = try Connection(path: history.connection.path, mode: .readOnly)
        // Its snapshot begins with the first read.
        try changes.execute("BEGIN; SELECT value FROM meta LIMIT 1")
        source = Source(changes: changes, past: try history.past.makeSnapshot())
    }

    /// Removes the files that a crash has left in a folder.
    package static func removeRemains(in folder: String) {
        for name in FolderContents(folder).files where name.contains(mark) { unlink("\(folder)/\(name)") }
    }

    /// Makes the copy. Once only.
    ///
    /// - parameter bytesMax: of a value that is returned as a whole.
    /// - parameter check: asked now and then for a reason to give up.
    package func make(
        bytesMax: Int = 64 << 20, check: @escaping () -> StorageError? = { nil }
    ) throws(HistoryError) -> PastValue {
        guard let source else { preconditionFailure("a copy is made once") }
        // Meanwhile the write-ahead files of the history only grow.
        defer { self.source = nil }
        do throws(StorageError) {
            defer { removeFiles() }
            if let reason = check() { throw reason }
            // Rows of several places in one file could not be told from those of one tree.
            var copies: [TreeFile] = []
            for place in places {
                let copy = try TreeFile(path: "\(file)-\(place.id)", durability: .memory)
                try copyRows(of: place, source, to: copy, check)
                try makeChanges(of: place, source, in: copy, check)
                copies.append(copy)
            }
            if places.count == 1, places[0].kept.contains(path) {
                return try Self.value(in: copies[0], at: places[0].location(of: path), bytesMax)
            }
            let whole = try TreeFile(path: "\(file)-whole", durability: .memory)
            for (place, copy) in zip(places, copies) { try gather(place, copy, in: whole, check) }
            return try Self.value(in: whole, at: path, bytesMax)
        } catch {
            throw .storage(error)
        }
    }

    /// The value at a path of a tree file; one that is too large as the rows.
    private static func value(in copy: TreeFile, at path: Path, _ bytesMax: Int) throws(StorageError) -> PastValue {
        let snapshot = try copy.makeSnapshot()
        do throws(TreeRows.ReadError) {
            return .whole(try TreeRows(store: snapshot).read(path, bytesMax: bytesMax))
        } catch {
            if case .storage(let error) = error { throw error }
        }
        return .rows(PastRows(snapshot: snapshot, path: path, byteCount: try copy.byteCount(at: path)))
    }

    private func removeFiles() {
        for copy in places.map({ "\($0.id)" }) + ["whole"] {
            for suffix in DatabaseFiles.suffixes { unlink("\(file)-\(copy)\(suffix)") }
        }
    }

    /// The state before the changes, as far as they do not replace all of it.
    private func copyRows(
        of place: HistoryFile.Place, _ source: Source, to copy: TreeFile, _ check: @escaping () -> StorageError?
    ) throws(StorageError) {
        if try HistoryFile.cover(of: path, in: place, sequence, source.changes) != nil { return }
        var writer = RowsWriter(copy, check)
        try TreeRows(store: source.past).forEachRow(at: place.location(of: path)) { key, value in
            writer.append(key.encoded, value)
        }
        try writer.finish()
    }

    private func makeChanges(
        of place: HistoryFile.Place, _ source: Source, in copy: TreeFile, _ check: @escaping () -> StorageError?
    ) throws(StorageError) {
        let cover = try HistoryFile.cover(of: path, in: place, sequence, source.changes)
        let above = HistoryFile.pathsDown(to: path).dropLast()
        // Without the values: SQLite sorts the rest in a temporary file if it is long.
        let exact = String(repeating: ", ?", count: above.count).dropFirst(2)
        let order = try source.changes.prepare(
            """
            SELECT sequence, part, path FROM change
            WHERE place = ?1 AND sequence <= ?2 AND (path >= ?3 AND path < ?4 OR path IN (\(exact)))
            ORDER BY sequence, part
            """)
        order.bind(1, place.id)
        order.bind(2, Int64(clamping: sequence))
        order.bind(3, path.encoded)
        order.bind(4, path.subtreeEnd)
        for (index, path) in above.enumerated() { order.bind(Int32(index + 5), path.encoded) }
        let select = try source.changes.prepare(
            "SELECT path, kind, value FROM change WHERE place = ? AND sequence = ? AND part = ? AND path = ?")
        let rows = TreeRows(store: try copy.makeReader())
        var count = 0
        while try order.step() {
            count += 1
            if count % Self.changesPerCheck == 0, let reason = check() { throw reason }
            let position = HistoryFile.Position(sequence: order.integer(0), part: order.integer(1))
            if let cover, position < cover { continue }
            select.bind(1, place.id)
            select.bind(2, position.sequence)
            select.bind(3, position.part)
            select.bind(4, order.blob(2))
            guard try select.step() else { continue }
            try HistoryFile.Change(select).make(in: rows, of: place, onlyAt: path)
            select.reset()
            guard rows.changedBytes > HistoryFile.bytesPerStep else { continue }
            if let reason = check() { throw reason }
            try HistoryFile.write(rows, to: copy, upTo: copy.sequence)
        }
        try HistoryFile.write(rows, to: copy, upTo: copy.sequence)
    }

    /// Brings the parts of a place that are in it to a tree of all of them.
    private func gather(
        _ place: HistoryFile.Place, _ copy: TreeFile, in whole: TreeFile, _ check: @escaping () -> StorageError?
    ) throws(StorageError) {
        var writer = RowsWriter(whole, check)
        do throws(TreeRows.ReadError) {
            let rows = TreeRows(store: try Self.reader(of: copy))
            try HistoryFile.forEachPart(of: place, at: path, in: rows) { part, value in
                writer.append(part.encoded, value)
            }
        } catch {
            if case .storage(let error) = error { throw error }
        }
        try writer.finish()
    }

    private static func reader(of copy: TreeFile) throws(TreeRows.ReadError) -> TreeReader {
        do throws(StorageError) { return try copy.makeReader() } catch { throw .storage(error) }
    }
}

extension HistoryFile {
    /// For ``value(at:after:bytesMax:)`` of a value that is too large for memory.
    package func copy(of path: Path, after sequence: UInt64) throws(HistoryError) -> PastCopy {
        let concerned = places.filter { $0.kept.concerns(path) }
        if concerned.isEmpty { throw .notKept }
        return try Self.storage { () throws(StorageError) in
            try PastCopy(of: path, after: sequence, concerned, self)
        }
    }
}

/// Writes rows into a tree file, some at a time.
private struct RowsWriter {
    private let file: TreeFile
    private let check: () -> StorageError?
    private var changes = RowChanges()
    private var bytes = 0
    private var failure: StorageError?

    init(_ file: TreeFile, _ check: @escaping () -> StorageError?) {
        self.file = file
        self.check = check
    }

    /// False once something failed.
    mutating func append(_ key: [UInt8], _ value: RowValue) -> Bool {
        changes.rows.append(Row(key: key, value: value))
        bytes += key.count + value.encoded.count
        if bytes > HistoryFile.bytesPerStep { write() }
        return failure == nil
    }

    private mutating func write() {
        do throws(StorageError) {
            if let reason = check() { throw reason }
            try file.apply(changes, upTo: file.sequence)
        } catch {
            failure = error
        }
        changes = RowChanges()
        bytes = 0
    }

    mutating func finish() throws(StorageError) {
        if failure == nil { write() }
        if let failure { throw failure }
    }
}
