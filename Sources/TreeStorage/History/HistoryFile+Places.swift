import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthSQLite
import HearthStorageErrors

/// Histories begin when a setting asks for them, and end with it.
extension HistoryFile {
    /// Begins the history of places with their present values: at the operation that the rows of the tree reach.
    func begin(_ kept: KeptPlaces, _ log: Connection) throws(StorageError) {
        let tree = try TreeReader(snapshotOf: DatabaseFiles(name: name, folder: folder).tree)
        // The rows of the tree never run ahead of the log, so the log reaches them; it is read again, as the tree was
        // looked at after it. It stays as it is now until it is closed.
        let log = try Connection(path: log.path, mode: .readOnly)
        try log.execute("BEGIN")
        let start = try max(tree.sequence(), min(tree.wholeSequence(), LogEnd(of: log)?.last ?? 0))
        let rows = try rows(of: kept, tree, log, through: start)
        let startTime = try Self.time(of: start, in: log) ?? 0
        // The others have read on meanwhile, or read on now.
        if !places.isEmpty, sequence < start { try read(log, after: sequence, for: places) }
        let id = (try connection.integer("SELECT max(id) FROM place") ?? 0) + 1
        let place = Place(id: id, kept: kept, start: start, edge: start)
        // A crash may have left something of an earlier history of these places.
        try removePast(at: .root, of: place)
        try connection.transaction { () throws(StorageError) in
            try insert(moment: start, startTime, [])
            _ = try copy(kept, at: kept.top, from: rows, as: id, at: start, part: 0)
            let insert = try connection.prepare("INSERT INTO place VALUES (?1, ?2, ?3, ?3, NULL)")
            insert.bind(1, id)
            insert.bind(2, kept.pattern.text)
            insert.bind(3, Int64(start))
            try insert.run()
            if places.isEmpty {
                try setPosition(start, in: log)
            } else {
                try take(log, after: start, through: sequence, for: [place])
            }
        }
        add(place)
        try read(log, after: sequence, for: places)
    }

    /// When an operation was made, in milliseconds since 1970; nil if the log does not have it.
    static func time(of sequence: UInt64, in log: Connection) throws(StorageError) -> Int64? {
        let time = try log.prepare("SELECT time FROM log WHERE first <= ? ORDER BY first DESC LIMIT 1")
        time.bind(1, Int64(sequence))
        return try time.firstInteger()
    }

    /// The rows of places after an operation. Those of the tree alone do not tell: while a large value is written to
    /// them, there is nothing at its place, or some of it (``TreeFile``). The records of the log after them tell the
    /// rest.
    private func rows(
        of kept: KeptPlaces, _ tree: TreeReader, _ log: Connection, through end: UInt64
    ) throws(StorageError) -> TreeRows {
        let applied = try tree.sequence()
        if let next = try LogFile.firstRow(after: applied, in: log), next > Int64(applied) + 1 {
            throw .busy("the log was pruned meanwhile: it is tried again")
        }
        let rows = TreeRows(store: tree)
        if end == applied { return rows }
        let patterns = ConcernedPatterns([kept.pattern])
        try LogFile.forEachRecord(in: log, after: applied) { (record) throws(StorageError) in
            for operation in try record.changes(concerning: patterns)
            where operation.sequence > applied && operation.sequence <= end {
                for change in changes(by: operation, of: kept) { try change.make(in: rows, at: change.path) }
            }
        }
        return rows
    }

    /// Copies the rows of the places at and below a path, as changes of one operation from a part on. The row of a node
    /// with a priority comes after those of its children, without which it could have none. Answers the next part.
    func copy(
        _ kept: KeptPlaces, at top: Path, from rows: TreeRows, as id: Int64, at sequence: UInt64, part first: Int64
    ) throws(StorageError) -> Int64 {
        var part = first
        var headers: [(path: Path, priority: CanonicalJSON)] = []
        func put(_ path: Path, _ kind: Kind, _ value: CanonicalJSON) throws(StorageError) {
            let target = WriteTarget(path: path, isPriority: kind.isPriority)
            guard let wanted = kept.part(of: Assignment(target: target, value: value)) else { return }
            if !kind.isPriority, wanted.value.isNull { return }
            try insert(Change(path: path, kind: kind, value: wanted.value), of: id, sequence, part)
            part += 1
        }
        func put(_ path: Path, _ row: RowValue) throws(StorageError) {
            while let last = headers.last, !last.path.contains(path) {
                try put(last.path, .initialPriority, last.priority)
                headers.removeLast()
            }
            switch row {
            case .subtree(let value): try put(path, .initial, value)
            case .header(let priority): headers.append((path, priority))
            }
        }
        var failure: StorageError?
        try rows.forEachRow(at: top) { path, row in
            do throws(StorageError) { try put(path, row) } catch { failure = error }
            return failure == nil
        }
        if let failure { throw failure }
        while let last = headers.popLast() { try put(last.path, .initialPriority, last.priority) }
        return part
    }

    /// Removes the history of places.
    func end(_ place: Place) throws(StorageError) {
        try connection.transaction { () throws(StorageError) in
            try connection.execute(
                "DELETE FROM change WHERE place = \(place.id); DELETE FROM place WHERE id = \(place.id)")
            try removeMoments()
        }
        remove(place)
        try removePast(at: .root, of: place)
        try tidy()
    }
}
