import HearthServerFiles
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthSQLite
import HearthStorageErrors
import HearthTreeText

/// Old changes are applied to the tree file, which is the state before the remaining ones.
extension HistoryFile {
    /// Changes that one fold takes, unless one operation has more.
    private static let changesPerFold = 2000
    /// Bytes of changes that one fold takes, likewise.
    private static let bytesPerFold: Int64 = 16 << 20
    /// Bytes of rows that are written in one step.
    static let bytesPerStep = 4 << 20

    /// Folds some changes that are old: the last state before the others can still be read, nothing earlier. Answers
    /// whether there are more.
    func fold(_ pattern: IndexPattern, _ old: HistoryClock.Horizon) throws(StorageError) -> Bool {
        guard let place = places.first(where: { $0.kept.pattern == pattern }) else { return false }
        guard let last = try lastToFold(of: place, old), last > Int64(place.edge) else { return false }
        let end = try endOfFold(of: place, through: last)
        try connection.execute(
            """
            BEGIN IMMEDIATE; UPDATE place SET folding = \(end) WHERE id = \(place.id);
            INSERT OR REPLACE INTO meta VALUES ('fold', \(past.sequence + 1)); COMMIT
            """)
        try fold(place, through: end)
        try tidy()
        return end < last
    }

    /// The last operation that is old, with all before it. Costs a look at each that is.
    private func lastToFold(of place: Place, _ old: HistoryClock.Horizon) throws(StorageError) -> Int64? {
        // By the numbers: the index of the times would begin with all of the others.
        let young = try connection.prepare(
            "SELECT sequence FROM moment NOT INDEXED WHERE sequence > ? AND time >= ? ORDER BY sequence LIMIT 1")
        young.bind(1, Int64(clamping: max(place.edge, old.last)))
        young.bind(2, old.time)
        let end = min(try young.firstInteger().map { $0 - 1 } ?? .max, Int64(clamping: old.end))
        let select = try connection.prepare("SELECT max(sequence) FROM moment WHERE sequence <= ?")
        select.bind(1, max(end, Int64(clamping: old.last)))
        return try select.step() ? select.optionalInteger(0) : nil
    }

    /// The operation at which the next fold ends: it takes whole operations, and one at least.
    private func endOfFold(of place: Place, through last: Int64) throws(StorageError) -> Int64 {
        let select = try connection.prepare(
            """
            SELECT sequence, length(path) + length(value) FROM change WHERE place = ? AND sequence <= ?
            ORDER BY sequence
            """)
        select.bind(1, place.id)
        select.bind(2, last)
        defer { select.reset() }
        var (count, bytes) = (0, 0 as Int64)
        var whole: Int64?
        var current: Int64?
        while try select.step() {
            let sequence = select.integer(0)
            if let current, current < sequence { whole = current }
            current = sequence
            count += 1
            bytes += select.integer(1)
            if count > Self.changesPerFold || bytes > Self.bytesPerFold, let whole { return whole }
        }
        return last
    }

    /// Completes a fold that a crash has interrupted.
    func finishFolding() throws(StorageError) {
        for place in places {
            guard let end = try connection.number("SELECT folding FROM place WHERE id = \(place.id)"),
                try connection.integer("SELECT folding IS NOT NULL FROM place WHERE id = \(place.id)") == 1
            else { continue }
            let number = try connection.number("SELECT value FROM meta WHERE name = 'fold'") ?? 0
            if number == past.sequence {
                try deleteFolded(place, through: Int64(end))
            } else {
                try fold(place, through: Int64(end))
            }
        }
    }

    private func fold(_ place: Place, through end: Int64) throws(StorageError) {
        let rows = TreeRows(store: try past.makeReader())
        let select = try connection.prepare(
            """
            SELECT path, kind, value, sequence FROM change WHERE place = ? AND sequence <= ? ORDER BY sequence, part
            """)
        select.bind(1, place.id)
        select.bind(2, end)
        var first: Int64?
        while try select.step() {
            let change = try Change(select)
            try change.make(in: rows, at: place.location(of: change.path))
            // The changes of one operation can be made again after a crash, and leave the same: they may be written in
            // steps. Those of several are written at once.
            first = first ?? select.integer(3)
            if rows.changedBytes > Self.bytesPerStep, first == end { try write(rows, upTo: past.sequence) }
        }
        try write(rows, upTo: past.sequence + 1)
        try deleteFolded(place, through: end)
    }

    private func deleteFolded(_ place: Place, through end: Int64) throws(StorageError) {
        try connection.transaction { () throws(StorageError) in
            try connection.execute(
                """
                DELETE FROM change WHERE place = \(place.id) AND sequence <= \(end);
                UPDATE place SET edge = \(end), folding = NULL WHERE id = \(place.id)
                """)
            try removeMoments()
        }
        set(edge: UInt64(end), of: place.id)
    }

    private func write(_ rows: TreeRows, upTo sequence: UInt64) throws(StorageError) {
        try Self.write(rows, to: past, upTo: sequence)
    }

    /// Brings changed rows to a tree file.
    static func write(_ rows: TreeRows, to file: TreeFile, upTo sequence: UInt64) throws(StorageError) {
        let frozen = rows.freeze()
        try file.apply(frozen?.changes ?? RowChanges(), upTo: sequence)
        if let frozen { rows.applied(frozen.generation) }
        while file.isClearing { try file.clearSome() }
        rows.storeIsCleared()
        rows.trim(looks: .max)
    }

    /// Takes the data of a place at a path and below out of the tree file.
    func removePast(at path: Path, of place: Place) throws(StorageError) {
        let rows = TreeRows(store: try past.makeReader())
        try rows.set(.null, at: place.location(of: path))
        try write(rows, upTo: past.sequence)
    }

    /// A row of the table `change`.
    struct Change {
        let path: Path
        let kind: Kind
        let value: CanonicalJSON

        func make(in rows: TreeRows, at path: Path) throws(StorageError) {
            if kind.isPriority {
                _ = try rows.setPriority(value, at: path)
            } else {
                try rows.set(value, at: path)
            }
        }
    }
}

extension HistoryFile.Change {
    /// - parameter row: with the columns path, kind and value first.
    init(_ row: Statement) throws(StorageError) {
        let (bytes, value) = (row.blob(0), row.blob(2))
        guard let path = Path(validatingEncoded: bytes), let kind = HistoryFile.Kind(rawValue: row.integer(1)),
            CanonicalJSON.isCanonical(value)
        else { throw .damaged("a change of a history is invalid") }
        self.init(path: path, kind: kind, value: CanonicalJSON(trusted: value))
    }

    /// A part of an operation.
    init(_ assignment: Assignment) {
        let (target, value) = (assignment.target, assignment.value)
        self.init(path: target.path, kind: target.isPriority ? .priority : .set, value: value)
    }
}
