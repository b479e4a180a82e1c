import HearthJSONTree
import HearthTreeQueries

/// A query that somebody listens to: one window for everybody who asks the same, and a group for each form in which
/// they do, tags included (Protocol.md 4.2). Programs that run the same code choose the same tags, so groups are few.
final class LiveQuery {
    struct FormGroup {
        let form: ListenerForm
        let group: GroupID
        var members = LoopMembers()
    }

    let path: Path
    private(set) var query: Query
    var window: QueryWindow
    /// A scan under way, and what the last one found; both without an index only.
    var scan: QueryScan?
    var spare: QueryScan?
    /// For a query with aggregates: the figures that were sent last.
    var totals = AggregateTotals()
    var told = CanonicalJSON.null
    /// Queries are told of a commit in the order in which they began.
    var serial: UInt64 = 0
    /// In the order of their making.
    private(set) var groups: [FormGroup] = []

    init(path: Path, query: Query) {
        self.path = path
        self.query = query
        window = QueryWindow(query, keepsOrder: query.conditions?.aggregates?.needsOrder == true)
    }

    /// The figures or fields that are sent instead of children, if any.
    var aggregates: Aggregates? { query.conditions?.aggregates }

    var isEmpty: Bool { groups.isEmpty }

    /// Its listeners, on all loops.
    var memberCount: Int { groups.reduce(0) { $0 + $1.members.count } }

    /// What listeners of another query that selects the same were told, they were told of this one.
    func takePlace(of other: LiveQuery) {
        window = other.window
        window.query = query
        (totals, told) = (other.totals, other.told)
    }

    /// Goes on as another query that selects the same.
    func rename(_ query: Query) {
        self.query = query
        window.query = query
    }

    /// What a scan has found is not known any more.
    func startOver() {
        spare = nil
        if scan != nil { scan = QueryScan(query) }
    }

    /// Somebody wants events.
    var needsEvents: Bool { groups.contains { $0.form.needsOrder } }

    /// Somebody wants to see all that is selected after each change.
    var wantsValue: Bool {
        groups.contains { group in
            if case .events(_, let kinds) = group.form { kinds.contains(.value) } else { false }
        }
    }

    func group(of form: ListenerForm) -> GroupID? { groups.first { $0.form == form }?.group }

    func join(_ form: ListenerForm, loop: Int, makeGroup: () -> GroupID) -> GroupID {
        let index = groups.firstIndex { $0.form == form } ?? groups.count
        if index == groups.count { groups.append(FormGroup(form: form, group: makeGroup())) }
        groups[index].members.add(loop)
        return groups[index].group
    }

    func leave(_ form: ListenerForm, loop: Int) -> GroupID? {
        guard let index = groups.firstIndex(where: { $0.form == form }) else { return nil }
        let group = groups[index].group
        groups[index].members.remove(loop)
        if groups[index].members.isEmpty { groups.remove(at: index) }
        return group
    }
}

/// How many members a group has on each event loop.
struct LoopMembers {
    private var counts: [Int] = []

    var isEmpty: Bool { counts.allSatisfy { $0 == 0 } }

    var count: Int { counts.reduce(0, +) }

    /// The loops that have members, one bit each.
    var loops: UInt64 {
        var loops: UInt64 = 0
        for (loop, count) in counts.enumerated() where count > 0 { loops |= 1 << UInt64(loop) }
        return loops
    }

    mutating func add(_ loop: Int) {
        while counts.count <= loop { counts.append(0) }
        counts[loop] += 1
    }

    mutating func remove(_ loop: Int) { counts[loop] -= 1 }
}
