import HearthJSONTree
import HearthTreeQueries
import HearthTestSupport
import HearthRealtimeDatabase

/// What a client knows of a query that it listens to: a value that it filters itself, as SDKs do (Protocol.md 5),
/// or a list that it keeps by the events alone.
struct SimulatedQuery {
    let path: Path
    let query: Query
    let form: ListenerForm
    /// The reply has come.
    var isSettled = false
    private var known = CanonicalJSON.null
    private var list: [(key: [UInt8], value: CanonicalJSON)] = []

    init(path: Path, query: Query, form: ListenerForm) {
        self.path = path
        self.query = query
        self.form = form
    }

    /// Takes a push. Answers its mistake.
    mutating func take(_ push: QueryPush, isInitial: Bool) -> String? {
        switch push.content {
        case .change(let change): take(change)
        case .events(let events): take(events, isInitial: isInitial)
        }
    }

    private mutating func take(_ change: Change) -> String? {
        for assignment in change.assignments {
            guard let place = assignment.target.path.suffix(after: path) else { return "a push above the query" }
            if assignment.target.isPriority {
                known = known.settingPriority(assignment.value, at: place) ?? known
            } else if place.depth > 1, let key = place.firstKey, !known.hasValue(at: Path([key])) {
                // A change inside a child that the client does not hold.
                continue
            } else {
                known = known.setting(assignment.value, at: place)
            }
        }
        known = query.select(from: known)
        return nil
    }

    private mutating func take(_ events: [QueryEvent], isInitial: Bool) -> String? {
        if events.isEmpty, !isInitial { return "no events" }
        for event in events {
            guard case .child(let kind, let key, let value, let previous) = event else { continue }
            let index = list.firstIndex { $0.key == key }
            switch kind {
            case .added:
                if index != nil { return "added twice" }
                guard insert(key, value, after: previous) else { return "an unknown predecessor" }
            case .removed:
                guard let index else { return "removed what was not there" }
                if list[index].value != value { return "removed another value" }
                list.remove(at: index)
            case .moved:
                guard let index else { return "moved what was not there" }
                list.remove(at: index)
                guard insert(key, value, after: previous) else { return "an unknown predecessor" }
            case .changed:
                guard let index else { return "changed what was not there" }
                let before = index > 0 ? list[index - 1].key : nil
                if before != previous { return "changed behind another predecessor" }
                list[index].value = value
            }
        }
        return nil
    }

    private mutating func insert(_ key: [UInt8], _ value: CanonicalJSON, after previous: [UInt8]?) -> Bool {
        var index = 0
        if let previous {
            guard let before = list.firstIndex(where: { $0.key == previous }) else { return false }
            index = before + 1
        }
        list.insert((key, value), at: index)
        return true
    }

    /// The mistake, given this tree and that everything has arrived.
    func problem(in tree: NaiveDatabase) -> String? {
        let expected = tree.selection(query, at: path)
        guard form.needsOrder else {
            return known == expected ? nil : "\(form) sees \(known) at \(path), not \(expected)"
        }
        let places = expected.children.map { (query.index.place(of: $0, in: expected), expected.part($0.value)) }
        let ordered = places.sorted { $0.0 < $1.0 }
        let isSame =
            ordered.count == list.count && zip(ordered, list).allSatisfy { $0.0.segment == $1.key && $0.1 == $1.value }
        return isSame ? nil : "\(form) lists \(list) at \(path), not \(expected)"
    }
}
