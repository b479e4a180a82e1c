import HearthBytes
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
    /// The rules have allowed it, or need not be asked. Until then, no other write waits for its increments.
    var isAllowed = false
    /// The rules have denied it again and again, though each time something had changed before its turn.
    var isDeniedForGood = false
    /// Others wait for its turn.
    var keepsOthersWaiting = false
    /// It is being made: what it changes itself need not be looked at.
    var isMade = false

    var isThere: Bool { decision != nil || reading != nil }

    func isAbout(_ request: Request) -> Bool {
        decision?.isAbout(request) == true || reading?.isAbout(request) == true
    }

    /// Something changes in the tree.
    func note(_ assignments: [Assignment]) {
        if isMade { return }
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
        let holdsIncrements = isAllowed && reading?.isCurrent == true
        guard holdsIncrements || decision?.holdsPlaces == true, !isAbout(request) else { return false }
        return request.operation.writes { place in
            decision?.holds(place) == true || holdsIncrements && reading?.isConcerned(by: place) == true
        }
    }
}

/// Reads what a large write needs, in steps before its turn: the values that its increments refer to, and the rows that
/// it changes. After another commit at the place of an increment, the write is begun anew, so other writes there wait
/// until it has had its turn, once the rules have allowed it.
final class WriteReading {
    private let connection: ConnectionID
    private let number: Int64
    private let examined: ExaminedWrite
    private var next = 0
    private(set) var isCurrent = true
    /// The values at the places of the increments.
    private(set) var bases: [Path: CanonicalJSON] = [:]
    /// Numbers among them that have changed since they were read.
    private(set) var earlier: [Path: CanonicalJSON] = [:]
    /// Of a commit that replaces more of them at once, the rules see the new ones.
    private static let earlierMax = 1000

    init(for request: Request, _ examined: ExaminedWrite) {
        connection = request.connection
        number = request.number
        self.examined = examined
    }

    func isAbout(_ request: Request) -> Bool { connection == request.connection && number == request.number }

    /// Whether a change at a place can change a value that an increment refers to.
    func isConcerned(by change: Path) -> Bool { Self.isConcerned(examined.increments[...], by: change) }

    private static func isConcerned(_ increments: ArraySlice<Path>, by change: Path) -> Bool {
        if increments.isEmpty { return false }
        let index = increments.partitioningIndex { $0 >= change }
        if index < increments.endIndex, change.contains(increments[index]) { return true }
        return change.segments.contains { segment in
            let above = change.prefix(bytes: segment.lowerBound)
            let index = increments.partitioningIndex { $0 >= above }
            return index < increments.endIndex && increments[index] == above
        }
    }

    /// Something changes in the tree. What is not read yet will be read as it is then.
    func note(_ assignments: [Assignment]) {
        let read = examined.increments.prefix(next)
        for assignment in assignments where Self.isConcerned(read, by: assignment.target.path) {
            isCurrent = false
            keepEarlier(read, at: assignment.target.path)
        }
    }

    private func keepEarlier(_ read: ArraySlice<Path>, at change: Path) {
        var index = read.partitioningIndex { $0 >= change }
        while index < read.endIndex, change.contains(read[index]), earlier.count < Self.earlierMax {
            if let base = bases[read[index]], base.isNumber { earlier[read[index]] = base }
            index += 1
        }
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

extension CanonicalJSON {
    fileprivate var isNumber: Bool {
        guard let first = bytes[leafRange].first else { return false }
        return first == UInt8(ascii: "-") || first.isDigit
    }
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
