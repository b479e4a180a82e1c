package import HearthJSONTree
package import HearthRealtimeDatabase
import HearthSQLite
package import HearthStorageErrors

extension HistoryFile {
    /// Removes the past at and below a place from the history. It starts over there with the present value, at the
    /// last operation that was read from the log. Answers how many changes were removed or cut. When it returns, the
    /// files do not have the bytes any more: they were written anew, also if no history is kept of the place now,
    /// because ended and folded ones leave remains. It can be repeated after a crash.
    ///
    /// - parameter present: the tree after that operation.
    /// - parameter patience: how long it waits for those who read the files, in milliseconds.
    /// - throws: ``StorageError/busy(_:)`` if somebody reads the files: they still have the bytes then.
    @discardableResult
    package func erase(
        _ path: Path, present: TreeRows, patience: Int = 10_000
    ) throws(StorageError) -> Int {
        let count = try removeRows(at: path, present: present)
        try removePastOfEnded()
        try rewrite(patience: patience)
        return count
    }

    private func removeRows(at path: Path, present: TreeRows) throws(StorageError) -> Int {
        let concerned = places.filter { $0.kept.concerns(path) }
        if concerned.isEmpty { return 0 }
        let log = try Connection(path: DatabaseFiles(name: name, folder: folder).log, mode: .readOnly)
        // Not the latest time: that may be one of a clock that was ahead.
        let last = try connection.integer("SELECT time FROM moment ORDER BY sequence DESC LIMIT 1") ?? 0
        let time = try Self.time(of: sequence, in: log) ?? last
        var count: Int64 = 0
        try connection.transaction { () throws(StorageError) in
            for place in concerned {
                count += try remove(path, "change", "place = \(place.id)")
                for segment in path.segments { count += try cut(path, at: segment.lowerBound, of: place) }
                try beginAnew(path, as: present, of: place)
            }
            // Of those who changed nothing else, nothing is told.
            let own = "kind IN (\(Kind.set.rawValue), \(Kind.priority.rawValue))"
            try connection.execute(
                "UPDATE moment SET uid = x'' WHERE sequence NOT IN (SELECT sequence FROM change WHERE \(own))")
            try insert(moment: sequence, time, [])
            _ = try remove(path, "erased", "TRUE")
            let insert = try connection.prepare("INSERT INTO erased VALUES (?, ?)")
            insert.bind(1, path.encoded)
            insert.bind(2, Int64(sequence))
            try insert.run()
        }
        for place in concerned { try removePast(at: path, of: place) }
        return Int(count)
    }

    /// Takes out of the tree file what a crash has left there of histories that were ending. Reads all of it.
    private func removePastOfEnded() throws(StorageError) {
        let rows = TreeRows(store: try past.makeReader())
        var found: Set<[UInt8]> = []
        try rows.forEachRow(at: .root) { path, row in
            var segments = path.segments
            if let first = segments.next() {
                found.insert(Array(path.encoded[first]))
            } else if case .subtree(let value) = row {
                for child in value.children {
                    var segment: [UInt8] = []
                    child.appendSegment(to: &segment)
                    found.insert(segment)
                }
            }
            return true
        }
        found.subtract(places.map { $0.location(of: .root).encoded })
        if found.isEmpty { return }
        for segment in found.sorted(by: { $0.precedesBytewise($1) }) {
            try rows.set(.null, at: Path(encoded: segment))
        }
        try Self.write(rows, to: past, upTo: past.sequence)
    }

    /// Deletes the rows of a table at and below a path, and answers how many there were.
    private func remove(_ path: Path, _ table: String, _ condition: String) throws(StorageError) -> Int64 {
        let delete = try connection.prepare("DELETE FROM \(table) WHERE \(condition) AND path >= ? AND path < ?")
        delete.bind(1, path.encoded)
        delete.bind(2, path.subtreeEnd)
        try delete.run()
        return try connection.integer("SELECT changes()") ?? 0
    }

    /// Writes the present value of a path into the history of a place, as at the beginning of a history. The existence
    /// and the priorities of the nodes above, which erased changes had affected, are corrected as well.
    private func beginAnew(_ path: Path, as present: TreeRows, of place: Place) throws(StorageError) {
        let last = try connection.number(
            "SELECT max(part) FROM change WHERE place = \(place.id) AND sequence = \(sequence)")
        var part = Int64(last ?? 0) + 1
        func put(_ path: Path, _ kind: Kind, _ value: CanonicalJSON) throws(StorageError) {
            let target = WriteTarget(path: path, isPriority: kind.isPriority)
            guard let wanted = place.kept.part(of: Assignment(target: target, value: value)) else { return }
            try insert(Change(path: path, kind: kind, value: wanted.value), of: place.id, sequence, part)
            part += 1
        }
        let line = Self.pathsDown(to: path)
        var existing = 0
        while existing < line.count, try present.exists(line[existing]) { existing += 1 }
        try put(existing < line.count ? line[existing] : path, .initial, .null)
        if existing == line.count {
            let top = path.contains(place.kept.top) ? place.kept.top : path
            part = try copy(place.kept, at: top, from: present, as: place.id, at: sequence, part: part)
        }
        for above in line.dropLast().prefix(existing) {
            try put(above, .initialPriority, try Self.priority(of: above, in: present))
        }
    }

    private static func priority(of path: Path, in rows: TreeRows) throws(StorageError) -> CanonicalJSON {
        var priority = CanonicalJSON.null
        try rows.forEachRow(at: path) { key, row in
            if key == path {
                switch row {
                case .subtree(let value): priority = value.priority
                case .header(let header): priority = header
                }
            }
            return false
        }
        return priority
    }

    /// Takes the part for a place out of the changes of an ancestor, whose path has so many bytes.
    private func cut(_ path: Path, at bytes: Int, of place: Place) throws(StorageError) -> Int64 {
        let suffix = path.dropFirst(bytes: bytes)
        let select = try connection.prepare(
            "SELECT sequence, part, value FROM change WHERE place = ?1 AND path = ?2 AND kind IN (0, 2)")
        select.bind(1, place.id)
        select.bind(2, Array(path.encoded[..<bytes]))
        var found: [(sequence: Int64, part: Int64)] = []
        while try select.step() {
            if CanonicalJSON(trusted: select.blob(2)).hasValue(at: suffix) {
                found.append((select.integer(0), select.integer(1)))
            }
        }
        select.reset()
        let key = "WHERE place = ?1 AND path = ?2 AND sequence = ?3 AND part = ?4"
        let read = try connection.prepare("SELECT value FROM change \(key)")
        let update = try connection.prepare("UPDATE change SET value = ?5 \(key)")
        for row in found {
            for statement in [read, update] {
                statement.bind(1, place.id)
                statement.bind(2, Array(path.encoded[..<bytes]))
                statement.bind(3, row.sequence)
                statement.bind(4, row.part)
            }
            guard try read.step() else { continue }
            let value = CanonicalJSON(trusted: read.blob(0))
            read.reset()
            update.bind(5, value.setting(.null, at: suffix).bytes)
            try update.run()
        }
        return Int64(found.count)
    }
}
