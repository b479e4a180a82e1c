package import HearthJSONTree
package import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

/// Reading the past. All of it costs time in proportion to the changes that are kept at, above and below the place,
/// since the place was last set as a whole, and to the result.
extension HistoryFile {
    package enum Moment: Hashable, Sendable {
        /// After the last operation that was made by this time, in milliseconds since 1970.
        case time(Int64)
        /// After the operation with this number.
        case sequence(UInt64)
    }

    /// Bytes of changes that are taken together for one value.
    private static let changeBytesMax = 64 << 20

    /// The operation after which the state at a moment was; that of now for a later one.
    package func sequence(at moment: Moment, of path: Path) throws(HistoryError) -> UInt64 {
        let concerned = places.filter { $0.kept.concerns(path) }
        guard let edge = concerned.map(\.edge).max() else { throw .notKept }
        let found: UInt64? = try Self.storage { () throws(StorageError) in
            switch moment {
            case .sequence(let sequence): return min(sequence, self.sequence)
            case .time(let time):
                let select = try connection.prepare(
                    "SELECT sequence FROM moment WHERE time <= ? ORDER BY time DESC, sequence DESC LIMIT 1")
                select.bind(1, time)
                return try select.firstInteger().map { UInt64($0) }
            }
        }
        guard let found, found >= edge else { throw try begin(edge) }
        return found
    }

    private func begin(_ edge: UInt64) throws(HistoryError) -> HistoryError {
        let time = try Self.storage { () throws(StorageError) in
            try connection.integer("SELECT time FROM moment WHERE sequence = \(edge)")
        }
        return .tooOld(sequence: edge, time: time ?? 0)
    }

    /// What was at a place after an operation, which ``sequence(at:of:)`` has found. Of a place above those whose
    /// history is kept, it has their values alone.
    package func value(
        at path: Path, after sequence: UInt64, bytesMax: Int = 64 << 20
    ) throws(HistoryError) -> CanonicalJSON {
        let concerned = places.filter { $0.kept.concerns(path) }
        if concerned.isEmpty { throw .notKept }
        do throws(TreeRows.ReadError) {
            return try rows(of: concerned, at: path, after: sequence).read(path, bytesMax: bytesMax)
        } catch {
            switch error {
            case .tooLarge: throw .tooLarge
            case .storage(let error): throw .storage(error)
            }
        }
    }

    /// The tree as it was, as far as it is asked for.
    private func rows(
        of places: [Place], at path: Path, after sequence: UInt64
    ) throws(TreeRows.ReadError) -> TreeRows {
        var isTooLarge = false
        do throws(StorageError) {
            var cover: Position?
            if places.count == 1, places[0].kept.contains(path) {
                cover = try self.cover(of: path, in: places[0], sequence)
            }
            let store: any RowStore = cover == nil ? try past.makeReader() : EmptyRowStore()
            let rows = TreeRows(store: store)
            var changes: [(position: Position, change: Change)] = []
            var bytes = 0
            for place in places {
                try forEachChange(of: place, at: path, through: sequence) { (position, row) in
                    if let cover, position < cover { return true }
                    let change = Change(row)
                    bytes += change.value.bytes.count
                    isTooLarge = bytes > Self.changeBytesMax
                    changes.append((position, change))
                    return !isTooLarge
                }
            }
            if !isTooLarge {
                changes.sort { $0.position < $1.position }
                for (_, change) in changes { try change.make(in: rows, onlyAt: path) }
                return rows
            }
        } catch {
            throw .storage(error)
        }
        throw .tooLarge
    }

    /// In the order in which changes were made; those of places that are no part of one another in any.
    private struct Position: Comparable {
        var sequence: Int64
        var part: Int64

        static func < (a: Self, b: Self) -> Bool { (a.sequence, a.part) < (b.sequence, b.part) }
    }

    /// The last change that set all of a place: nothing before it matters.
    private func cover(of path: Path, in place: Place, _ sequence: UInt64) throws(StorageError) -> Position? {
        let select = try connection.prepare(
            """
            SELECT sequence, part FROM change
            WHERE place = ?1 AND path = ?2 AND sequence <= ?3 AND kind IN (\(Kind.set.rawValue), \(Kind.initial.rawValue))
            ORDER BY sequence DESC, part DESC LIMIT 1
            """)
        var last: Position?
        for above in Self.pathsDown(to: path) {
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
    private static func pathsDown(to path: Path) -> [Path] {
        [.root] + path.segments.map { path.prefix(bytes: $0.upperBound) }
    }

    /// Visits the changes of a place at, above and below a path, in no order, until `body` answers false.
    private func forEachChange(
        of place: Place, at path: Path, through sequence: UInt64, _ body: (Position, Statement) -> Bool
    ) throws(StorageError) {
        let columns = "path, kind, value, sequence, part"
        let exact = try connection.prepare(
            "SELECT \(columns) FROM change WHERE place = ?1 AND path = ?2 AND sequence <= ?3")
        for above in Self.pathsDown(to: path).dropLast() {
            exact.bind(1, place.id)
            exact.bind(2, above.encoded)
            exact.bind(3, Int64(sequence))
            while try exact.step() {
                if !body(Position(sequence: exact.integer(3), part: exact.integer(4)), exact) { return }
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
            if !body(Position(sequence: below.integer(3), part: below.integer(4)), below) { return }
        }
    }

    // MARK: Commits

    /// An operation of the past, with what it changed at, above and below a place.
    package struct Commit: Sendable {
        package let operation: LogRecord.Operation
        /// In milliseconds since 1970.
        package let time: Int64
    }

    /// The operations that changed something at, above or below a place, the newest first: those before a number, and
    /// so many at most.
    package func commits(at path: Path, before sequence: UInt64?, limit: Int) throws(HistoryError) -> [Commit] {
        let concerned = places.filter { $0.kept.concerns(path) }
        if concerned.isEmpty { throw .notKept }
        return try Self.storage { () throws(StorageError) in
            let before = sequence.map { Int64(clamping: $0) } ?? .max
            var numbers: Set<Int64> = []
            for place in concerned { numbers.formUnion(try self.numbers(of: place, at: path, before, limit)) }
            var commits: [Commit] = []
            for number in numbers.sorted(by: >).prefix(limit) {
                commits.append(try commit(number, of: concerned, at: path))
            }
            return commits
        }
    }

    /// The numbers of those operations, of one setting.
    private func numbers(
        of place: Place, at path: Path, _ before: Int64, _ limit: Int
    ) throws(StorageError) -> [Int64] {
        var numbers: [Int64] = []
        let order = "ORDER BY sequence DESC LIMIT \(limit)"
        let isOwn = "kind IN (\(Kind.set.rawValue), \(Kind.priority.rawValue))"
        func read(_ condition: String, _ bounds: [[UInt8]]) throws(StorageError) {
            let select = try connection.prepare(
                "SELECT DISTINCT sequence FROM change WHERE place = ?1 AND sequence < ?2 AND \(isOwn) \(condition) \(order)"
            )
            select.bind(1, place.id)
            select.bind(2, before)
            for (index, bound) in bounds.enumerated() { select.bind(Int32(index + 3), bound) }
            while try select.step() { numbers.append(select.integer(0)) }
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

    /// Changes of one operation that are looked at.
    private static let changesOfCommitMax = 1000

    private func commit(_ number: Int64, of places: [Place], at path: Path) throws(StorageError) -> Commit {
        var assignments: [Assignment] = []
        let select = try connection.prepare(
            """
            SELECT path, kind, value FROM change WHERE place = ?1 AND sequence = ?2
            ORDER BY part LIMIT \(Self.changesOfCommitMax)
            """)
        for place in places {
            select.bind(1, place.id)
            select.bind(2, number)
            while try select.step() {
                let change = Change(select)
                guard !change.kind.isInitial, change.path.contains(path) || path.contains(change.path) else { continue }
                let target = WriteTarget(path: change.path, isPriority: change.kind.isPriority)
                assignments.append(Assignment(target: target, value: change.value))
            }
            select.reset()
        }
        let moment = try connection.prepare("SELECT time, uid FROM moment WHERE sequence = ?")
        moment.bind(1, number)
        let isKnown = try moment.step()
        return Commit(
            operation: LogRecord.Operation(
                sequence: UInt64(number), uid: isKnown ? moment.blob(1) : [],
                content: .change(.merge(base: .root, assignments))), time: isKnown ? moment.integer(0) : 0)
    }

    private static func storage<Result>(
        _ body: () throws(StorageError) -> Result
    ) throws(HistoryError) -> Result {
        do throws(StorageError) { return try body() } catch { throw .storage(error) }
    }
}

extension HistoryFile.Change {
    /// As far as it concerns a place. Of a change above, the place gets its part.
    func make(in rows: TreeRows, onlyAt place: Path) throws(StorageError) {
        if place.contains(path) { return try make(in: rows) }
        guard !kind.isPriority, let suffix = place.suffix(after: path) else { return }
        try rows.set(value.value(at: suffix), at: place)
    }
}
