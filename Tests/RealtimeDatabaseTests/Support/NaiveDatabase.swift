import HearthJSONTree
import HearthTreeText
import HearthTestSupport
import HearthSecurityRules
import HearthRealtimeDatabase

/// What a database answers, by the words of its documentation, with the whole tree as one value.
struct NaiveDatabase {
    var tree = CanonicalJSON.null
    /// What connections want written when they end, by their number.
    var owed: [UInt64: OwedWrites] = [:]

    /// Runs a request; nil for those that are not answered.
    mutating func run(_ request: Request, now: Int64) -> Reply? {
        let connection = request.connection.raw
        switch request.operation {
        case .onDisconnect(let entries):
            owe(entries.map { Assignment(target: $0.target, value: $0.value.json) }, of: connection)
            return .done
        case .cancelOnDisconnect(let path):
            cancelOwed(path, of: connection)
            return .done
        default: return run(request.operation, now: now)
        }
    }

    mutating func owe(_ assignments: [Assignment], of connection: UInt64) {
        // At once: a node that loses its only child before it gets another one would lose its priority.
        let values = assignments.filter { !$0.target.isPriority }
        let ordered =
            values.filter { !$0.value.isNull } + values.filter(\.value.isNull)
            + assignments.filter(\.target.isPriority)
        for assignment in ordered { owed[connection, default: OwedWrites()].set(assignment) }
    }

    mutating func cancelOwed(_ path: Path, of connection: UInt64) {
        owed[connection]?.cancel(path)
        if owed[connection]?.isEmpty == true { owed[connection] = nil }
    }

    /// A connection has ended.
    mutating func pay(_ connection: UInt64, now: Int64) {
        guard let writes = owed.removeValue(forKey: connection) else { return }
        let entries = writes.assignments.map(\.incoming)
        // The priority of nothing does not keep the others back.
        if case .failed = run(.update(base: .root, entries), now: now) {
            for entry in entries { _ = run(.update(base: .root, [entry]), now: now) }
        }
    }

    /// Runs an operation; nil for those that are not answered.
    mutating func run(_ operation: Operation, now: Int64) -> Reply? {
        switch operation {
        case .set(let target, let value, let expecting, let echoes):
            let before = tree.value(at: target.path)
            if let expecting, !NodeHash.matches(expecting, before) { return .failed(.stale(before)) }
            if target.isPriority, before.isNull { return .failed(.nothingThere) }
            let stored = resolve(value, at: target.path, now: now)
            assign(Assignment(target: target, value: stored))
            return echoes ? .value(stored) : .done
        case .update(_, let entries):
            let before = self
            // Values come before removals, so that a node with data before and after keeps its priority.
            for isRemoval in [false, true] {
                for (target, value) in entries where !target.isPriority && value.json.isNull == isRemoval {
                    assign(Assignment(target: target, value: before.resolve(value, at: target.path, now: now)))
                }
            }
            for (target, value) in entries where target.isPriority {
                let isMade = entries.contains {
                    !$0.target.isPriority && !$0.value.json.isNull && target.path.contains($0.target.path)
                }
                if !value.json.isNull, !isMade, !before.tree.hasValue(at: target.path) {
                    self = before
                    return .failed(.nothingThere)
                }
                assign(Assignment(target: target, value: before.resolve(value, at: target.path, now: now)))
            }
            return .done
        case .setChildren(let base, let children): return run(.update(base: base, children.entries(of: base)), now: now)
        case .get(let path, nil, _): return .value(tree.value(at: path))
        case .get(let path, let query?, needsIndex: _): return .value(selection(query, at: path))
        // What is there in short has tests of its own.
        case .describe: return .done
        case .listen: return .listening
        case .listenQuery: return .listening
        case .unlisten, .unlistenQuery, .onDisconnect, .cancelOnDisconnect: return .done
        // Queues have a model of their own.
        case .job: return .done
        case .become(let reply): return reply
        case .relay(let reply): return reply
        // Without rules.
        case .explain: return .explained(.withoutRules)
        case .dropListener, .forfeit, .disconnect: return nil
        }
    }

    /// What a query selects, which has no priority of its own.
    func selection(_ query: Query, at path: Path) -> CanonicalJSON {
        let value = tree.value(at: path)
        if value.isLeaf { return .null }
        return query.select(from: value.settingPriority(.null, at: .root) ?? value)
    }

    mutating func assign(_ assignment: Assignment) {
        let path = assignment.target.path
        if assignment.target.isPriority {
            tree = tree.settingPriority(assignment.value, at: path) ?? tree
        } else {
            tree = tree.setting(assignment.value, at: path)
        }
    }

    private func resolve(_ value: IncomingValue, at path: Path, now: Int64) -> CanonicalJSON {
        guard value.hasServerValues else { return value.json }
        return value.json.resolved(timestamp: now) { tree.value(at: path.appending($0)) }
    }
}
