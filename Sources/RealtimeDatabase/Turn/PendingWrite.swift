import HearthJSONTree
import HearthTreeText

/// The large write that comes next: what was read for it before its turn.
struct PendingWrite {
    var decision: SteppedDecision?
    /// Decisions that were begun.
    var decisionCount = 0
    var reading: WriteReading?
    /// How often what had been read, or found out, was out of date.
    var restartCount = 0
    /// Others wait for its turn.
    var keepsOthersWaiting = false

    var isThere: Bool { decision != nil || reading != nil }

    /// Something changes in the tree.
    func note(_ assignments: [Assignment]) {
        decision?.note(assignments)
        reading?.note(assignments)
    }

    /// The tree is another one.
    func forget() {
        decision?.end()
        reading?.end()
    }

    /// Whether another write has to wait, because it would change what was read.
    func holds(_ request: Request) -> Bool {
        let isHolding = decision?.holdsPlaces == true || reading?.isCurrent == true
        guard isHolding, decision?.isAbout(request) != true, reading?.isAbout(request) != true else { return false }
        return request.operation.writes { place in
            decision?.holds(place) == true || reading?.isConcerned(by: place) == true
        }
    }
}

/// Reads what a large write needs, in steps before its turn: the values that its increments refer to, and the rows that
/// it changes. Writes at the places of the increments wait until the write has had its turn; after a commit that
/// the server itself makes there, the write is begun anew.
final class WriteReading {
    private let connection: ConnectionID
    private let number: Int64
    private let examined: ExaminedWrite
    private var next = 0
    private(set) var isCurrent = true
    /// The values at the places of the increments.
    private(set) var bases: [Path: CanonicalJSON] = [:]

    init(for request: Request, _ examined: ExaminedWrite) {
        connection = request.connection
        number = request.number
        self.examined = examined
    }

    func isAbout(_ request: Request) -> Bool { connection == request.connection && number == request.number }

    /// Whether a change at a place can change a value that an increment refers to.
    func isConcerned(by change: Path) -> Bool {
        let increments = examined.increments
        if increments.isEmpty { return false }
        let index = increments.partitioningIndex { $0 >= change }
        if index < increments.count, change.contains(increments[index]) { return true }
        return change.segments.contains { segment in
            let above = change.prefix(bytes: segment.lowerBound)
            let index = increments.partitioningIndex { $0 >= above }
            return index < increments.count && increments[index] == above
        }
    }

    func note(_ assignments: [Assignment]) {
        if isCurrent, assignments.contains(where: { isConcerned(by: $0.target.path) }) { isCurrent = false }
    }

    func end() { isCurrent = false }

    /// Takes the next place: true for that of an increment. Nil at the end.
    func takeNext() -> (path: Path, isIncrement: Bool)? {
        defer { next += 1 }
        if next < examined.increments.count { return (examined.increments[next], true) }
        let index = next - examined.increments.count
        return index < examined.places.count ? (examined.places[index], false) : nil
    }

    func add(_ base: CanonicalJSON, at path: Path) { bases[path] = base }
}

extension Operation {
    /// Whether one of the places that it writes at once satisfies the predicate.
    fileprivate func writes(where predicate: (Path) -> Bool) -> Bool {
        switch self {
        case .set(let target, _, _, _): predicate(target.path)
        case .update(_, let entries): entries.contains { predicate($0.target.path) }
        case .setChildren(let base, _): predicate(base)
        case .job(let queue, let operation):
            predicate(queue) || operation.entries.contains { predicate($0.target.path) }
        case .get, .describe, .listen, .unlisten, .listenQuery, .unlistenQuery, .dropListener, .onDisconnect,
            .cancelOnDisconnect, .become, .relay, .explain, .forfeit, .disconnect:
            false
        }
    }
}
