@testable import HearthClient
import HearthJSONTree
import Synchronization

/// What somebody makes of the child events of a query, checked step by step: nothing is added twice, removed or changed
/// without being there, or told in a place where it is not.
final class ReplayedList: Sendable {
    private struct State {
        var children: [(key: String, value: DatabaseValue)] = []
        var problems: [String] = []
    }
    private let state = Mutex(State())

    var problems: [String] { state.withLock { $0.problems } }
    var value: DatabaseValue {
        state.withLock { state in
            let children = Dictionary(state.children.map { ($0.key, $0.value) }) { _, last in last }
            return children.isEmpty ? .null : .object(children)
        }
    }

    init(_ query: some DatabaseQueryable) {
        query.observe([.child, .value], onCancel: { [self] in note("cancelled: \($0)") }) { [self] event in
            if let kind = event.kind {
                take(kind, event.snapshot.key ?? "", event.snapshot.exportValue, event.previous)
            } else {
                compare(event.snapshot.children.map { ($0.key ?? "", $0.exportValue) })
            }
        }
    }

    private func note(_ problem: String) { state.withLock { $0.problems.append(problem) } }

    private func compare(_ children: [(String, DatabaseValue)]) {
        state.withLock { state in
            if !children.elementsEqual(state.children, by: { $0.0 == $1.key && $0.1 == $1.value }) {
                state.problems.append("the value \(children) is not that of the children \(state.children)")
            }
        }
    }

    private func take(_ kind: ChildEvent.Kind, _ key: String, _ value: DatabaseValue, _ previous: String?) {
        state.withLock { state in
            let old = state.children.firstIndex { $0.key == key }
            if (old == nil) != (kind == .added) {
                state.problems.append("\(kind) of \(key), which is there: \(old != nil)")
            }
            switch kind {
            case .removed:
                if let old, state.children.remove(at: old).value != value {
                    state.problems.append("\(key) was removed with another value")
                }
            case .changed:
                guard let old else { return }
                if state.children[old].value == value { state.problems.append("\(key) changed to what it was") }
                state.children[old].value = value
            case .added, .moved:
                if let old { state.children.remove(at: old) }
                let before = previous.flatMap { previous in state.children.firstIndex { $0.key == previous } }
                if previous != nil, before == nil { state.problems.append("\(key) stands behind \(previous ?? "")") }
                // What moves has its new value with the change that follows.
                let kept = kind == .moved ? DatabaseValue.string("(moving)") : value
                state.children.insert((key, kept), at: before.map { $0 + 1 } ?? 0)
            }
        }
    }
}
