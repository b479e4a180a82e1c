import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// Moves the ends of leases and pauses with the clock when it is set, so that what is left of them stays the same. All
/// states of jobs are looked at, in steps; until that is done, no job is handed out.
///
/// Only memory knows of a move: what the process that began it has not done when it ends is not done.
struct LeaseMoves {
    private struct Move {
        /// In milliseconds.
        var change: Int64
        /// States that were written after the clock was set, with the numbers of these operations.
        var fresh: [Path: UInt64] = [:]
        /// What is left to walk through; nil before the first step.
        var walks: [CollectionWalk]?
        /// What was left after the operations of these numbers, if it may still be needed: from the last one that the
        /// log has.
        var positions: [(sequence: UInt64, walks: [CollectionWalk])] = []

        var isDone: Bool { walks?.isEmpty ?? false }

        /// The log has all that it did.
        func isDone(with durable: UInt64) -> Bool { isDone && positions.allSatisfy { $0.sequence <= durable } }
    }

    /// One after the other. Those that are done stay for as long as the log lacks some of it.
    private var moves: [Move] = []

    /// Nothing is left to move.
    var isEmpty: Bool { moves.allSatisfy(\.isDone) }

    /// The clock was set by so many milliseconds.
    mutating func add(_ change: Int64) {
        guard let last = moves.last, last.walks == nil, last.fresh.isEmpty else {
            return moves.append(Move(change: change))
        }
        let (sum, isOverflow) = last.change.addingReportingOverflow(change)
        if isOverflow { moves.append(Move(change: change)) } else { moves[moves.count - 1].change = sum }
    }

    /// The time in a state is that of the present clock, from the operation of this number on.
    mutating func note(_ state: Path, at sequence: UInt64) {
        for index in moves.indices { moves[index].fresh[state] = sequence }
    }

    /// They follow the clock after all.
    mutating func giveUp() { moves = [] }

    /// The operations after this number are lost.
    mutating func lose(after durable: UInt64) {
        for index in moves.indices {
            moves[index].fresh = moves[index].fresh.filter { $0.value <= durable }
            let isBegun = moves[index].walks != nil
            moves[index].positions.removeAll { $0.sequence > durable }
            if isBegun { moves[index].walks = moves[index].positions.last?.walks }
        }
    }

    /// Looks at some states. Answers the new ones, which the next operation has to set.
    ///
    /// - parameter sequence: the number of the last operation.
    /// - parameter durable: that of the last one that the log has.
    mutating func step(
        _ queues: [IndexCatalog.Queue], in rows: TreeRows, countMax: Int, sequence: UInt64, durable: UInt64
    ) throws(StorageError) -> [Assignment] {
        moves.removeAll { $0.isDone(with: durable) }
        guard let index = moves.firstIndex(where: { !$0.isDone }) else { return [] }
        var move = moves[index]
        var walks = move.walks ?? queues.map { CollectionWalk($0.definition.pattern.appending(QueueDefinition.state)) }
        var moved: [Assignment] = []
        var left = countMax
        while left > 0, !walks.isEmpty {
            let isDone = try walks[walks.count - 1].step(rows, childrenLeft: &left) { collection, child in
                let path = Path(encoded: collection.encoded + child.segment)
                guard move.fresh[path] == nil, let value = child.value else { return }
                var state = JobState(value)
                state.move(by: move.change)
                let json = state.json
                if json != value { moved.append(Assignment(target: WriteTarget(path: path), value: json)) }
            }
            if isDone { walks.removeLast() }
        }
        move.walks = walks
        if let last = move.positions.lastIndex(where: { $0.sequence <= durable }) {
            move.positions.removeSubrange(..<last)
        }
        move.positions.append((moved.isEmpty ? sequence : sequence + 1, walks))
        moves[index] = move
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
