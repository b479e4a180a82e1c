package import HearthJSONTree
package import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors
import HearthTreeText

/// Reading the past. All of it costs time in proportion to the changes that are kept at, above and below the place,
/// since the place was last set as a whole, and to the result.
extension HistoryFile {
    package enum Moment: Hashable, Sendable {
        /// After the last operation that was made by this time, in milliseconds since 1970.
        case time(Int64)
        /// After the operation with this number.
        case sequence(UInt64)
    }

    /// Whether the history of a place is kept as a whole, and not of places below it alone.
    package func keeps(_ path: Path) -> Bool { places.contains { $0.kept.contains(path) } }

    /// The operation after which the state at a moment was; that of now for a later one. After something was erased at
    /// or above a path, its history begins with the erasing.
    package func sequence(at moment: Moment, of path: Path) throws(HistoryError) -> UInt64 {
        let concerned = places.filter { $0.kept.concerns(path) }
        guard var edge = concerned.map(\.edge).max() else { throw .notKept }
        edge = max(edge, try Self.storage { () throws(StorageError) in try lastErasure(atOrAbove: path) } ?? 0)
        let found: UInt64? = try Self.storage { () throws(StorageError) in
            switch moment {
            case .sequence(let sequence): return min(sequence, self.sequence)
            case .time(let time):
                let select = try connection.prepare(
                    "SELECT sequence FROM moment WHERE time <= ? ORDER BY time DESC, sequence DESC LIMIT 1")
                select.bind(1, time)
                return try select.step() ? try select.number(0) : nil
            }
        }
        guard let found, found >= edge else { throw try begin(edge) }
        return found
    }

    /// The operation with which the history of a path starts over.
    private func lastErasure(atOrAbove path: Path) throws(StorageError) -> UInt64? {
        let select = try connection.prepare("SELECT sequence FROM erased WHERE path = ?")
        var last: UInt64?
        for above in Self.pathsDown(to: path) {
            select.bind(1, above.encoded)
            if try select.step() { last = max(last ?? 0, try select.number(0)) }
            select.reset()
        }
        return last
    }

    /// The places at and below a path of which the state after an operation is not known, because it was erased: the
    /// value of the path at that time lacks them.
    package func erasures(at path: Path, after sequence: UInt64) throws(HistoryError) -> [Path] {
        try Self.storage { () throws(StorageError) in
            let select = try connection.prepare(
                "SELECT path FROM erased WHERE path >= ? AND path < ? AND sequence > ? ORDER BY path")
            select.bind(1, path.encoded)
            select.bind(2, path.subtreeEnd)
            select.bind(3, Int64(sequence))
            var found: [Path] = []
            while try select.step() {
                guard let path = Path(validatingEncoded: select.blob(0)) else { throw damaged("an erased place") }
                found.append(path)
            }
            return found
        }
    }

    /// Throws if restoring a place's value after an operation could lose data, because a value below it was erased from
    /// the history and exists now.
    package func checkRestoring(_ path: Path, after sequence: UInt64) throws(HistoryError) {
        for erased in try erasures(at: path, after: sequence) where try hasValue(at: erased) {
            let last = try Self.storage { () throws(StorageError) in try lastErasure(atOrAbove: erased) }
            throw try begin(last ?? self.sequence)
        }
    }

    private func hasValue(at path: Path) throws(HistoryError) -> Bool {
        do throws(HistoryError) { return try !value(at: path, after: sequence).isNull } catch {
            guard error == .tooLarge else { throw error }
            return true
        }
    }

    private func damaged(_ what: String) -> StorageError { .damaged("\(what) in \(connection.path)") }

    private func begin(_ edge: UInt64) throws(HistoryError) -> HistoryError {
        let time = try Self.storage { () throws(StorageError) in
            try connection.integer("SELECT time FROM moment WHERE sequence = \(edge)")
        }
        return .tooOld(sequence: edge, time: time ?? 0)
    }

    /// The value of a place after an operation, which ``sequence(at:of:)`` has found. For a place above those whose
    /// history is kept, it has only their values. ``copy(of:after:)`` is for a larger one.
    ///
    /// - parameter bytesMax: of the value, and of the changes that make it.
    package func value(
        at path: Path, after sequence: UInt64, bytesMax: Int = 64 << 20
    ) throws(HistoryError) -> CanonicalJSON {
        let concerned = places.filter { $0.kept.concerns(path) }
        if concerned.isEmpty { throw .notKept }
        var bytes = 0
        do throws(TreeRows.ReadError) {
            if concerned.count == 1, concerned[0].kept.contains(path) {
                let rows = try rows(of: concerned[0], at: path, after: sequence, &bytes, bytesMax)
                return try rows.read(concerned[0].location(of: path), bytesMax: bytesMax)
            }
            // The places lie side by side.
            var parts: [(path: Path, value: RowValue)] = []
            var partBytes = 0
            for place in concerned {
                let rows = try rows(of: place, at: path, after: sequence, &bytes, bytesMax)
                try Self.forEachPart(of: place, at: path, in: rows) { part, value in
                    parts.append((part, value))
                    partBytes += part.encoded.count + value.encoded.count
                    return partBytes <= bytesMax
                }
                if partBytes > bytesMax { throw .tooLarge }
            }
            parts.sort { $0.path.encoded.precedesBytewise($1.path.encoded) }
            var joiner = RowJoiner(base: path.encoded.count)
            for part in parts { joiner.append(key: part.path.encoded, value: part.value) }
            return joiner.finish()
        } catch {
            switch error {
            case .tooLarge: throw .tooLarge
            case .storage(let error): throw .storage(error)
            }
        }
    }

    /// Visits the rows of places below a path until `body` answers false. One that lies above places counts as one row
    /// for each.
    static func forEachPart(
        of place: Place, at path: Path, in rows: TreeRows, _ body: (Path, RowValue) -> Bool
    ) throws(TreeRows.ReadError) {
        let prefix = place.location(of: .root).encoded.count
        do throws(StorageError) {
            try rows.forEachRow(at: place.location(of: path)) { key, value in
                let path = key.dropFirst(bytes: prefix)
                if place.kept.contains(path) { return body(path, value) }
                guard case .subtree(let whole) = value else { return true }
                return place.kept.places(in: whole, at: path).allSatisfy { found in
                    body(found, .subtree(whole.value(at: found.dropFirst(bytes: path.encoded.count))))
                }
            }
        } catch {
            throw .storage(error)
        }
    }

    /// A place as it was, as far as it is asked for.
    private func rows(
        of place: Place, at path: Path, after sequence: UInt64, _ bytes: inout Int, _ bytesMax: Int
    ) throws(TreeRows.ReadError) -> TreeRows {
        do throws(StorageError) {
            let cover = try Self.cover(of: path, in: place, sequence, connection)
            let store: any RowStore = cover == nil ? try past.makeReader() : EmptyRowStore()
            let rows = TreeRows(store: store)
            var changes: [(position: Position, change: Change)] = []
            try forEachChange(of: place, at: path, through: sequence) { (position, row) throws(StorageError) in
                if let cover, position < cover { return true }
                let change = try Change(row)
                bytes += change.value.bytes.count
                changes.append((position, change))
                return bytes <= bytesMax
            }
            if bytes <= bytesMax {
                changes.sort { $0.position < $1.position }
                for (_, change) in changes { try change.make(in: rows, of: place, onlyAt: path) }
                return rows
            }
        } catch {
            throw .storage(error)
        }
        throw .tooLarge
    }

    /// In the order in which changes were made.
    struct Position: Comparable {
        var sequence: Int64
        var part: Int64

        static func < (a: Self, b: Self) -> Bool { (a.sequence, a.part) < (b.sequence, b.part) }
    }

    /// The last change that set all of a path: nothing before it matters. Nil for a path above places, too.
    static func cover(
        of path: Path, in place: Place, _ sequence: UInt64, _ connection: Connection
    ) throws(StorageError) -> Position? {
        guard place.kept.contains(path) else { return nil }
        let select = try connection.prepare(
            """
            SELECT sequence, part FROM change
            WHERE place = ?1 AND path = ?2 AND sequence <= ?3 AND kind IN (\(Kind.set.rawValue), \(Kind.initial.rawValue))
            ORDER BY sequence DESC, part DESC LIMIT 1
            """)
        var last: Position?
        for above in pathsDown(to: path) {
            select.bind(1, place.id)
            select.bind(2, above.encoded)
            select.bind(3, Int64(sequence))
            if try select.step() {
                let found = Position(sequence: select.integer(0), part: select.integer(1))
                last = max(last ?? found, found)
            }
            select.reset()
        }
        return last
    }

    /// The root, and so on down to the path itself.
    static func pathsDown(to path: Path) -> [Path] {
        [.root] + path.segments.map { path.prefix(bytes: $0.upperBound) }
    }

    /// Visits the changes of a place at, above and below a path, in no order, until `body` answers false.
    private func forEachChange(
        of place: Place, at path: Path, through sequence: UInt64,
        _ body: (Position, Statement) throws(StorageError) -> Bool
    ) throws(StorageError) {
        let columns = "path, kind, value, sequence, part"
        let exact = try connection.prepare(
            "SELECT \(columns) FROM change WHERE place = ?1 AND path = ?2 AND sequence <= ?3")
        for above in Self.pathsDown(to: path).dropLast() {
            exact.bind(1, place.id)
            exact.bind(2, above.encoded)
            exact.bind(3, Int64(sequence))
            while try exact.step() {
                if try !body(Position(sequence: exact.integer(3), part: exact.integer(4)), exact) { return }
            }
            exact.reset()
        }
        let below = try connection.prepare(
            "SELECT \(columns) FROM change WHERE place = ?1 AND path >= ?2 AND path < ?3 AND sequence <= ?4")
        below.bind(1, place.id)
        below.bind(2, path.encoded)
        below.bind(3, path.subtreeEnd)
        below.bind(4, Int64(sequence))
        while try below.step() {
            if try !body(Position(sequence: below.integer(3), part: below.integer(4)), below) { return }
        }
    }

    // MARK: Commits

    /// Some operations of the past, the newest first, each with its changes at, above and below a place; and the number
    /// before which there are more, nil if there are not.
    package struct CommitPage: Sendable {
        package fileprivate(set) var commits: [LoggedOperation] = []
        package fileprivate(set) var next: UInt64?
    }

    /// The operations that changed something at, above or below a place, the newest first: those before a number, so
    /// many at most, and fewer if their values have more than 16 MiB.
    package func commits(at path: Path, before sequence: UInt64?, limit: Int) throws(HistoryError) -> CommitPage {
        let concerned = places.filter { $0.kept.concerns(path) }
        if concerned.isEmpty { throw .notKept }
        return try Self.storage { () throws(StorageError) in
            let before = sequence.map { Int64(clamping: $0) } ?? .max
            var found: Set<UInt64> = []
            for place in concerned { found.formUnion(try numbers(of: place, at: path, before, limit + 1)) }
            let numbers = found.sorted(by: >)
            var page = CommitPage()
            var bytes = 0
            for number in numbers.prefix(limit) where bytes < Self.commitBytesMax {
                let commit = try commit(number, of: concerned, at: path)
                bytes += commit.assignments.reduce(0) { $0 + $1.value.bytes.count }
                page.commits.append(commit)
            }
            if numbers.count > page.commits.count { page.next = page.commits.last?.sequence }
            return page
        }
    }

    /// Bytes of changes that are read for one answer.
    private static let commitBytesMax = 16 << 20

    /// Whether a row is a change by an operation, and not the state at the beginning.
    private static let isOwn = "kind IN (\(Kind.set.rawValue), \(Kind.priority.rawValue))"

    /// The numbers of those operations, of one setting.
    private func numbers(
        of place: Place, at path: Path, _ before: Int64, _ limit: Int
    ) throws(StorageError) -> [UInt64] {
        var numbers: [UInt64] = []
        let order = "ORDER BY sequence DESC LIMIT \(limit)"
        func read(_ condition: String, _ bounds: [[UInt8]]) throws(StorageError) {
            let select = try connection.prepare(
                "SELECT DISTINCT sequence FROM change WHERE place = ?1 AND sequence < ?2 AND \(Self.isOwn) \(condition) \(order)"
            )
            select.bind(1, place.id)
            select.bind(2, before)
            for (index, bound) in bounds.enumerated() { select.bind(Int32(index + 3), bound) }
            while try select.step() { numbers.append(try select.number(0)) }
        }
        // All changes concern it, and have an index.
        if path.contains(place.kept.top) {
            try read("", [])
        } else {
            for above in Self.pathsDown(to: path).dropLast() { try read("AND path = ?3", [above.encoded]) }
            try read("AND path >= ?3 AND path < ?4", [path.encoded, path.subtreeEnd])
        }
        return numbers
    }

    /// Changes of one operation that are read, of those at, above and below a place.
    private static let changesOfCommitMax = 1000

    /// An operation may change any number of other places first. But it has fewer changes than a place has: without the
    /// name of the index, all those of the place are looked at.
    static func queryOfCommit(_ above: String) -> String {
        """
        SELECT path, kind, value FROM change INDEXED BY change_sequence
        WHERE place = ?1 AND sequence = ?2 AND \(isOwn) AND (path >= ?3 AND path < ?4 OR path IN (\(above)))
        ORDER BY part LIMIT \(changesOfCommitMax)
        """
    }

    private func commit(
        _ number: UInt64, of places: [Place], at path: Path
    ) throws(StorageError) -> LoggedOperation {
        var assignments: [Assignment] = []
        let above = Self.pathsDown(to: path).dropLast()
        let parameters = above.indices.map { "?\($0 + 5)" }.joined(separator: ", ")
        let select = try connection.prepare(Self.queryOfCommit(parameters))
        for place in places {
            select.bind(1, place.id)
            select.bind(2, Int64(number))
            select.bind(3, path.encoded)
            select.bind(4, path.subtreeEnd)
            for (index, path) in above.enumerated() { select.bind(Int32(index + 5), path.encoded) }
            while try select.step() {
                let change = try Change(select)
                let target = WriteTarget(path: change.path, isPriority: change.kind.isPriority)
                assignments.append(Assignment(target: target, value: change.value))
            }
            select.reset()
        }
        let moment = try connection.prepare("SELECT time, uid FROM moment WHERE sequence = ?")
        moment.bind(1, Int64(number))
        let isKnown = try moment.step()
        return LoggedOperation(
            sequence: number, time: isKnown ? moment.integer(0) : 0, uid: isKnown ? moment.blob(1) : [],
            content: .change(.merge(base: .root, assignments)))
    }

    static func storage<Result>(
        _ body: () throws(StorageError) -> Result
    ) throws(HistoryError) -> Result {
        do throws(StorageError) { return try body() } catch { throw .storage(error) }
    }
}

extension HistoryFile.Change {
    /// As far as it concerns a path. Of a change above, the path gets its part.
    func make(
        in rows: TreeRows, of place: HistoryFile.Place, onlyAt asked: Path
    ) throws(StorageError) {
        if asked.contains(path) { return try make(in: rows, at: place.location(of: path)) }
        guard !kind.isPriority, let suffix = asked.suffix(after: path) else { return }
        try rows.set(value.value(at: suffix), at: place.location(of: asked))
    }
}
