import HearthJSONTree

/// Lets connections whose compare-and-sets meet at one place take turns, so that each retries while no other does.
///
/// The first connection that is refused as stale is answered at once, and the turn is its own: it retries with the
/// newest value. Until it has committed, or has not come back for a while, the others are refused without an answer:
/// their answers wait in line, and leave one by one. Without contention nothing waits.
///
/// The line is as fair as its order. A connection that comes back after its turn is over may commit all the same, so
/// a client that is far away gets ahead, too; and turns become longer for it, up to a limit.
struct TransactionTurns {
    /// An answer that waits: "stale", to a request of a connection.
    struct Waiting: Hashable {
        let connection: ConnectionID
        let number: Int64
    }

    enum Verdict: Hashable {
        case commit
        /// It is refused, and answered.
        case answer
        /// It is refused, and its answer waits.
        case wait
    }

    private struct Line {
        /// Who has the turn, and since when.
        var holder: ConnectionID
        var since: Int64
        /// How often it was refused in its turn.
        var refusals = 0
        /// Turns in a row that ended without a commit.
        var misses = 0
        var waiting: [Waiting] = []
        /// Those that had their turn and have not come back, and since when they had it.
        var late: [ConnectionID: Int64] = [:]
        /// How long a turn is, in milliseconds.
        var patience = patienceMin

        /// A client came back so many milliseconds after its turn began.
        mutating func came(after milliseconds: Int64) {
            patience = min(max((3 * patience + 2 * milliseconds) / 4, patienceMin), patienceMax)
        }
    }

    private var lines: [Path: Line] = [:]
    /// The places where a connection waits, has the turn, or is late.
    private var places: [ConnectionID: Set<Path>] = [:]
    private(set) var waitingCount = 0

    /// A turn lasts about twice as long as clients take to come back, in milliseconds within these limits.
    private static let patienceMin: Int64 = 5
    private static let patienceMax: Int64 = 100
    /// A plain write can refuse a holder again and again; then the next one is due.
    private static let refusalsMax = 3
    private static let linesMax = 1000
    private static let waitingMax = 10_000

    var isEmpty: Bool { lines.isEmpty }

    /// A connection wants to compare and set.
    ///
    /// - parameter isStale: the value that it compares with is not the present one.
    /// - parameter now: in milliseconds, by a clock of which ``moveClock(by:)`` is told when it is set.
    mutating func verdict(
        on connection: ConnectionID, number: Int64, at path: Path, isStale: Bool, now: Int64
    ) -> Verdict {
        guard let index = lines.index(forKey: path) else {
            if !isStale { return .commit }
            guard lines.count < Self.linesMax else { return .answer }
            lines[path] = Line(holder: connection, since: now)
            places[connection, default: []].insert(path)
            return .answer
        }
        if lines.values[index].holder == connection {
            lines.values[index].came(after: now - lines.values[index].since)
            if !isStale { return .commit }
            lines.values[index].refusals += 1
            if lines.values[index].refusals < Self.refusalsMax || lines.values[index].waiting.isEmpty {
                lines.values[index].since = now
                return .answer
            }
            // Its turn is over with the next look at the clock.
            lines.values[index].since = now - lines.values[index].patience
        } else if let since = lines.values[index].late.removeValue(forKey: connection) {
            lines.values[index].came(after: now - since)
            if !isStale {
                forget(connection, at: path, in: lines.values[index])
                return .commit
            }
        }
        guard waitingCount < Self.waitingMax else { return isStale ? .answer : .commit }
        lines.values[index].waiting.append(Waiting(connection: connection, number: number))
        places[connection, default: []].insert(path)
        waitingCount += 1
        return .wait
    }

    /// A connection has compared and set. Answers whose turn is next, which is answered now.
    mutating func committed(by connection: ConnectionID, at path: Path, now: Int64) -> Waiting? {
        lines[path]?.misses = 0
        guard let line = lines[path], line.holder == connection else { return nil }
        return next(at: path, now: now)
    }

    /// Ends turns that have lasted too long. Answers whose turns are next: one connection, then two, then four, until
    /// one commits. When a counter has reached its limit, none commits, and all should be answered soon.
    mutating func passOverdue(now: Int64) -> [Waiting] {
        var answers: [Waiting] = []
        for path in lines.filter({ $0.value.since + $0.value.patience <= now }).keys.sorted() {
            guard var line = lines[path] else { continue }
            line.late[line.holder] = line.since
            let early = line.waiting.prefix((1 << min(line.misses, 20)) - 1)
            line.misses += 1
            line.waiting.removeFirst(early.count)
            waitingCount -= early.count
            for waiting in early { line.late[waiting.connection] = now }
            lines[path] = line
            answers += early
            if let next = next(at: path, now: now, isLate: true) { answers.append(next) }
        }
        return answers
    }

    /// The clock was set by so many milliseconds. Turns last as long as they would have.
    mutating func moveClock(by change: Int64) {
        for index in lines.values.indices {
            lines.values[index].since += change
            for connection in lines.values[index].late.keys { lines.values[index].late[connection]? += change }
        }
    }

    /// When a turn will have lasted too long; nil if there is none. O(places with contention).
    var deadline: Int64? { lines.values.map { $0.since + $0.patience }.min() }

    /// A connection asks for something else: its answers wait no longer, so that it is answered in order. It may come
    /// back at any time.
    mutating func release(_ connection: ConnectionID, now: Int64) -> [Waiting] {
        var released: [Waiting] = []
        for path in places[connection] ?? [] {
            guard let own = lines[path]?.waiting.filter({ $0.connection == connection }), !own.isEmpty else { continue }
            lines[path]?.waiting.removeAll { $0.connection == connection }
            lines[path]?.late[connection] = now
            released += own
        }
        waitingCount -= released.count
        return released.sorted { $0.number < $1.number }
    }

    /// A connection has ended. Answers whose turns are next.
    mutating func leave(_ connection: ConnectionID, now: Int64) -> [Waiting] {
        guard let paths = places.removeValue(forKey: connection) else { return [] }
        return paths.sorted().compactMap { path in
            guard let line = lines[path] else { return nil }
            let others = line.waiting.filter { $0.connection != connection }
            waitingCount -= line.waiting.count - others.count
            lines[path]?.waiting = others
            lines[path]?.late[connection] = nil
            return line.holder == connection ? next(at: path, now: now) : nil
        }
    }

    /// Ends all turns. Returns the answers that waited, in path order.
    mutating func end() -> [Waiting] {
        defer { self = TransactionTurns() }
        return lines.sorted { $0.key < $1.key }.flatMap(\.value.waiting)
    }

    /// Those to which answers wait.
    var waitingConnections: Set<ConnectionID> {
        lines.values.reduce(into: []) { all, line in for waiting in line.waiting { all.insert(waiting.connection) } }
    }

    private mutating func next(at path: Path, now: Int64, isLate: Bool = false) -> Waiting? {
        guard var line = lines[path] else { return nil }
        if !isLate { forget(line.holder, at: path, in: line) }
        guard !line.waiting.isEmpty else {
            lines[path] = nil
            for connection in [line.holder] + line.late.keys { forget(connection, at: path) }
            return nil
        }
        let next = line.waiting.removeFirst()
        waitingCount -= 1
        line.holder = next.connection
        line.late[next.connection] = nil
        line.since = now
        line.refusals = 0
        lines[path] = line
        return next
    }

    /// A connection may wait at the place for the turn after its own.
    private mutating func forget(_ connection: ConnectionID, at path: Path, in line: Line) {
        if !line.waiting.contains(where: { $0.connection == connection }) { forget(connection, at: path) }
    }

    private mutating func forget(_ connection: ConnectionID, at path: Path) {
        places[connection]?.remove(path)
        if places[connection]?.isEmpty == true { places[connection] = nil }
    }
}
