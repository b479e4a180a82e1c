import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
import Synchronization
import HearthStorageErrors

/// A table of a tree file with a `key` and a `sequence`, and the table of its cleared ranges: deleting many rows is one
/// line there, and the rows go in small steps later. Used on the applier's thread.
final class ClearableTable {
    let clearing = ClearingRanges()
    /// Of its rows, the dead ones included.
    var total: RowTotal
    private let name: String
    private let clearedName: String
    private let connection: Connection
    private let hasValues: Bool
    private let deletedAtOnceMax: Int64
    private let clearedPerStep: Int64
    private let countRange: Statement
    private let deleteRange: Statement
    private let deleteRow: Statement
    private let findChecksum: Statement
    private let upsert: Statement
    private let upsertCleared: Statement
    private let scan: KeyScan
    private let source: RowSource
    private let insertFromSource: Statement
    /// How far the clearing of a range has come.
    private var progress: (lower: [UInt8], sequence: Int64, next: [UInt8])?

    /// - parameter columns: with the value, if it has one.
    init(
        _ name: String, _ clearedName: String, columns: Int, _ connection: Connection, _ deletedAtOnceMax: Int64,
        _ clearedPerStep: Int64
    ) throws(StorageError) {
        self.name = name
        self.clearedName = clearedName
        self.connection = connection
        hasValues = columns == 4
        self.deletedAtOnceMax = deletedAtOnceMax
        self.clearedPerStep = clearedPerStep
        total = try MetaTable.total(of: name, in: connection)
        countRange = try connection.prepare(
            "SELECT count(*) FROM (SELECT 1 FROM \(name) WHERE key >= ?1 AND key < ?2 LIMIT ?3)")
        deleteRange = try connection.prepare("DELETE FROM \(name) WHERE key >= ?1 AND key < ?2 RETURNING checksum")
        deleteRow = try connection.prepare("DELETE FROM \(name) WHERE key = ?1")
        findChecksum = try connection.prepare("SELECT checksum FROM \(name) WHERE key = ?1")
        let parameters = (1...columns).map { "?\($0)" }.joined(separator: ", ")
        upsert = try connection.prepare("INSERT OR REPLACE INTO \(name) VALUES (\(parameters))")
        upsertCleared = try connection.prepare("INSERT OR REPLACE INTO \(clearedName) VALUES (?1, ?2, ?3, ?4)")
        scan = try KeyScan(name, connection)
        source = try RowSource("new_\(name)", hasValues: hasValues, connection)
        // OR FAIL, as SQLite would keep the earlier pages for the statement to be undone; the transaction is undone.
        insertFromSource = try connection.prepare(
            "INSERT OR FAIL INTO \(name) SELECT key, ?1, checksum\(hasValues ? ", value" : "") FROM new_\(name)")
        let cleared = try connection.prepare("SELECT lower, upper, sequence, checksum FROM \(clearedName)")
        while try cleared.step() {
            let lower = cleared.blob(0)
            guard RowChecksum.of(lower, cleared.integer(2), cleared.blob(1)) == cleared.integer(3) else {
                throw connection.damaged("a range of removed rows")
            }
            clearing.insert(lower)
        }
    }

    /// Puts a row in the place of the one with its key, if there is one.
    ///
    /// - parameter value: nil where rows have none.
    func put(_ key: [UInt8], _ sequence: UInt64, bytes value: UnsafeRawBufferPointer?) throws(StorageError) {
        findChecksum.bind(1, key)
        try put(key, sequence, bytes: value, inPlaceOf: findChecksum.firstInteger())
    }

    /// - parameter before: the checksum of the present row with the key; nil for a new key.
    private func put(
        _ key: [UInt8], _ sequence: UInt64, bytes value: UnsafeRawBufferPointer?, inPlaceOf before: Int64?
    ) throws(StorageError) {
        if let before { total.remove(before) }
        let checksum = key.withUnsafeBytes {
            RowChecksum.of($0, Int64(sequence), value ?? UnsafeRawBufferPointer(start: nil, count: 0))
        }
        upsert.bind(1, key)
        upsert.bind(2, Int64(sequence))
        upsert.bind(3, checksum)
        if let value { upsert.bind(4, bytes: value) }
        try upsert.run()
        total.add(checksum)
    }

    func put(_ key: [UInt8], _ sequence: UInt64, _ value: [UInt8]) throws(StorageError) {
        try value.span.bytes.withUnsafeBytes { (bytes) throws(StorageError) in
            try put(key, sequence, bytes: bytes)
        }
    }

    /// Puts rows in the places of those with their keys, in one go. No two have the same key.
    func put(_ rows: [Row], _ sequence: UInt64) throws(StorageError) {
        if rows.isEmpty { return }
        // In key order, neighbours go to the same page.
        let order = RowOrder.indices(of: rows)
        assert(zip(order, order.dropFirst()).allSatisfy { rows[$0].key != rows[$1].key }, "two rows have the same key")
        let (new, replaced) = try sort(rows, in: order, sequence)
        for (index, checksum) in replaced {
            let row = rows[index]
            try row.value.encoded.span.bytes.withUnsafeBytes { (bytes) throws(StorageError) in
                try put(row.key, sequence, bytes: hasValues ? bytes : nil, inPlaceOf: checksum)
            }
        }
        if new.isEmpty { return }
        insertFromSource.bind(1, Int64(sequence))
        total.add(
            try source.provide(rows, at: new, sequence) { () throws(StorageError) in try insertFromSource.run() })
    }

    /// Finds the rows whose keys the table does not have, and the checksums of those that others are put in the place
    /// of. Clears what is below rows that say so.
    private func sort(
        _ rows: [Row], in order: [Int], _ sequence: UInt64
    ) throws(StorageError) -> (new: [Int], replaced: [(index: Int, checksum: Int64)]) {
        var new: [Int] = []
        var replaced: [(index: Int, checksum: Int64)] = []
        defer { scan.end() }
        for index in order {
            let key = rows[index].key
            var before = try scan.checksum(of: key)
            if rows[index].clearsBelow, try scan.hasKeys(below: key) {
                // Only changes what the scan has yet to come to.
                scan.end()
                try clear(KeyRange(lower: key, upper: Path.subtreeEnd(of: key)), sequence: sequence)
                before = try scan.checksum(of: key)
            }
            if let before { replaced.append((index, before)) } else { new.append(index) }
        }
        return (new, replaced)
    }

    func delete(_ key: [UInt8]) throws(StorageError) {
        findChecksum.bind(1, key)
        if let before = try findChecksum.firstInteger() { try delete(key, withChecksum: before) }
    }

    /// Deletes a row that is there. To ask for its checksum with RETURNING would cost a temporary table for each row.
    private func delete(_ key: [UInt8], withChecksum checksum: Int64) throws(StorageError) {
        deleteRow.bind(1, key)
        try deleteRow.run()
        total.remove(checksum)
    }

    private func insertCleared(_ range: KeyRange, _ sequence: UInt64) throws(StorageError) {
        upsertCleared.bind(1, range.lower)
        upsertCleared.bind(2, range.upper)
        upsertCleared.bind(3, Int64(sequence))
        upsertCleared.bind(4, RowChecksum.of(range.lower, Int64(sequence), range.upper))
        try upsertCleared.run()
    }

    /// All rows of a range are dead that are older than `sequence`.
    func clear(_ range: KeyRange, sequence: UInt64) throws(StorageError) {
        countRange.bind(1, range.lower)
        countRange.bind(2, range.upper)
        countRange.bind(3, deletedAtOnceMax + 1)
        let count = try countRange.firstInteger() ?? 0
        if count == 0 { return }
        if count <= deletedAtOnceMax {
            deleteRange.bind(1, range.lower)
            deleteRange.bind(2, range.upper)
            defer { deleteRange.reset() }
            while try deleteRange.step() { total.remove(deleteRange.integer(0)) }
        } else {
            // Readers must look out for dead rows before there are any.
            clearing.insert(range.lower)
            try insertCleared(range, sequence)
        }
    }

    /// Hides all rows of a range that are older than `sequence`, also those that are written later.
    func hide(_ range: KeyRange, sequence: UInt64) throws(StorageError) {
        clearing.hide(range.lower)
        try insertCleared(range, sequence)
    }

    /// Only rows older than `sequence` are dead in a range that was hidden; none with nil.
    func show(_ range: KeyRange, from sequence: UInt64?) throws(StorageError) {
        if let sequence {
            try insertCleared(range, sequence)
        } else {
            let delete = try connection.prepare("DELETE FROM \(clearedName) WHERE lower = ?1")
            delete.bind(1, range.lower)
            try delete.run()
        }
    }

    /// Whether a range has rows, dead ones included.
    func holdsRows(in range: KeyRange) throws(StorageError) -> Bool {
        countRange.bind(1, range.lower)
        countRange.bind(2, range.upper)
        countRange.bind(3, 1)
        return try countRange.firstInteger() != 0
    }

    /// Whether dead rows are still there that can be removed.
    var isClearing: Bool { clearing.hasUnhidden }

    /// Removes some dead rows. Answers how many rows it looked at.
    ///
    /// - parameter transaction: runs its argument in a separate transaction.
    func clearSome(
        in transaction: (() throws(StorageError) -> Void) throws(StorageError) -> Void
    ) throws(StorageError) -> Int {
        let next = try connection.prepare(
            "SELECT lower, upper, sequence FROM \(clearedName) WHERE lower IS NOT ?1 ORDER BY lower LIMIT 1")
        if let hidden = clearing.hidden { next.bind(1, hidden) }
        guard try next.step() else {
            clearing.removeUnhidden()
            return 0
        }
        let (lower, upper, before) = (next.blob(0), next.blob(1), next.integer(2))
        next.reset()
        // Since the last step another range may have come before this one, or this one may have been cleared again.
        var from = lower
        if let progress, progress.lower == lower, progress.sequence == before { from = progress.next }
        let select = try connection.prepare(
            "SELECT key, sequence, checksum FROM \(name) WHERE key >= ? AND key < ? ORDER BY key LIMIT ?")
        select.bind(1, from)
        select.bind(2, upper)
        select.bind(3, clearedPerStep)
        var dead: [(key: [UInt8], checksum: Int64)] = []
        var last: [UInt8]?
        var count = 0
        while try select.step() {
            count += 1
            let key = select.blob(0)
            if select.integer(1) < before { dead.append((key, select.integer(2))) }
            last = key
        }
        select.reset()
        try transaction { () throws(StorageError) in
            for row in dead { try delete(row.key, withChecksum: row.checksum) }
            if last == nil {
                let done = try connection.prepare("DELETE FROM \(clearedName) WHERE lower = ?")
                done.bind(1, lower)
                try done.run()
            }
        }
        progress = last.map { (lower, before, $0 + [0]) }
        if last == nil { clearing.remove(lower) }
        return count
    }
}

/// The lower bounds of the ranges that hold dead rows. Written by the applier, read by readers on other threads: a
/// range is in here before its rows are dead, and until the last one is gone, so a stale answer costs time only.
final class ClearingRanges: Sendable {
    private struct Bounds {
        var lower: Set<[UInt8]> = []
        var hidden: [UInt8]?
    }

    private let bounds = Mutex(Bounds())

    var keys: Set<[UInt8]> { bounds.withLock { $0.lower } }

    /// The range whose rows are being written and are not to be seen yet.
    var hidden: [UInt8]? { bounds.withLock { $0.hidden } }

    var hasUnhidden: Bool { bounds.withLock { $0.lower.count > ($0.hidden == nil ? 0 : 1) } }

    func insert(_ key: [UInt8]) { _ = bounds.withLock { $0.lower.insert(key) } }

    func remove(_ key: [UInt8]) { _ = bounds.withLock { $0.lower.remove(key) } }

    func hide(_ key: [UInt8]) {
        bounds.withLock { bounds in
            bounds.lower.insert(key)
            bounds.hidden = key
        }
    }

    /// Nothing is hidden any more; whether the range is still being cleared is said separately.
    func endHiding() { bounds.withLock { $0.hidden = nil } }

    func removeUnhidden() { bounds.withLock { bounds in bounds.lower = bounds.lower.filter { $0 == bounds.hidden } } }
}
