import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// Moves the ends of leases and pauses with the clock when it is set, so that what is left of them stays the same. All
/// states of jobs are looked at, in steps; until that is done, no job is handed out.
struct LeaseMoves {
    private struct Move {
        /// In milliseconds.
        let change: Int64
        /// States that were written after the clock was set.
        var fresh: Set<Path> = []
        /// What is left to walk through; nil before the first step.
        var walks: [CollectionWalk]?
    }

    /// One after the other.
    private var moves: [Move] = []

    var isEmpty: Bool { moves.isEmpty }

    /// The clock was set by so many milliseconds.
    mutating func add(_ change: Int64) { moves.append(Move(change: change)) }

    /// The time in a state is that of the present clock.
    mutating func note(_ state: Path) {
        for index in moves.indices { moves[index].fresh.insert(state) }
    }

    /// They follow the clock after all.
    mutating func giveUp() { moves = [] }

    /// Looks at some states. Answers the new ones.
    mutating func step(
        _ queues: [IndexCatalog.Queue], in rows: TreeRows, countMax: Int
    ) throws(StorageError) -> [Assignment] {
        guard var move = moves.first else { return [] }
        var walks = move.walks ?? queues.map { CollectionWalk($0.definition.pattern.appending(QueueDefinition.state)) }
        var moved: [Assignment] = []
        var left = countMax
        while left > 0, !walks.isEmpty {
            let isDone = try walks[walks.count - 1].step(rows, childrenLeft: &left) { collection, child in
                let path = Path(encoded: collection.encoded + child.segment)
                guard !move.fresh.contains(path), let value = child.value else { return }
                var state = JobState(value)
                state.move(by: move.change)
                let json = state.json
                if json != value { moved.append(Assignment(target: WriteTarget(path: path), value: json)) }
            }
            if isDone { walks.removeLast() }
        }
        if walks.isEmpty {
            moves.removeFirst()
        } else {
            move.walks = walks
            moves[0] = move
        }
        return moved
    }
}

extension JobState {
    fileprivate mutating func move(by change: Int64) {
        func moved(_ time: Int64) -> Int64 {
            if time >= QueueDefinition.never - 1 { return time }
            let (sum, isOverflow) = time.addingReportingOverflow(change)
            return isOverflow ? time : min(max(sum, 1), QueueDefinition.never - 1)
        }
        if let until = lease?.until { lease?.until = moved(until) }
        at = at.map(moved)
    }
}
