import HearthJSONTree

/// The listeners of one connection: plain ones, and queries, each by its name.
///
/// A plain listener below another one of the same connection gets its data through that one, so only the uppermost are
/// members of groups: each change is sent to a connection once.
struct SessionListens {
    private struct Entry {
        var path: Path
        /// The request that asked for it last.
        var request: Int64
        var isMember: Bool
        /// Its data are a large read, which may still be on its way, and fail.
        var isStreamed: Bool
    }

    /// What a step changes in the groups, in this order.
    struct GroupSteps {
        var leave: [Path] = []
        var join: [Path] = []
    }

    /// In path order, so descendants of a path follow it directly.
    private var entries: [Entry] = []
    /// Queries, each independent of all other listeners.
    private(set) var queries: [ListenerForm.Name: QueryListener] = [:]
    private var queryCounts: [Path: Int] = [:]
    /// Children that the windows of its queries keep, about.
    private(set) var keptPlaces = 0
    /// The memory that its listeners use, about.
    private(set) var byteCount = 0
    /// Its earlier listens.
    private(set) var ended = EndedListens()
    /// Whom the rules judge.
    var principal: Principal
    /// Who shares rates with it.
    let client: UInt64

    /// Which groups the plain listeners are members of.
    var audience: ListenerTrie.Audience

    init(
        _ principal: Principal = .nobody, client: UInt64 = 0, _ audience: ListenerTrie.Audience = .changes
    ) {
        self.principal = principal
        self.client = client
        self.audience = audience
    }

    /// There is nothing to know.
    var isEmpty: Bool { entries.isEmpty && queries.isEmpty && audience != .positions }
    var count: Int { entries.count + queries.count }
    var paths: [Path] { entries.map(\.path) }
    /// The paths whose groups the connection belongs to.
    var memberships: [Path] { entries.filter(\.isMember).map(\.path) }

    func contains(_ path: Path) -> Bool {
        let index = index(of: path)
        return index < entries.count && entries[index].path == path
    }

    /// Whether the client has been told all that is at a path: by a listener there or above whose data came at once.
    func hasTold(_ path: Path) -> Bool {
        var next: Path? = path
        while let current = next {
            let index = index(of: current)
            if index < entries.count, entries[index].path == current, !entries[index].isStreamed { return true }
            next = current.parent
        }
        return false
    }

    mutating func add(_ path: Path, request: Int64, isStreamed: Bool = false) -> GroupSteps {
        var steps = GroupSteps()
        ended.remove(from: path)
        let index = index(of: path)
        if index < entries.count, entries[index].path == path {
            entries[index].request = request
            entries[index].isStreamed = isStreamed
            return steps
        }
        let isMember = !isCovered(path)
        if isMember {
            steps.join.append(path)
            forEachBelow(path, from: index) { entry in
                if entry.isMember { steps.leave.append(entry.path) }
                entry.isMember = false
            }
        }
        entries.insert(Entry(path: path, request: request, isMember: isMember, isStreamed: isStreamed), at: index)
        byteCount += KeptBytes.listener(at: path)
        return steps
    }

    mutating func add(_ listener: QueryListener) {
        if let old = queries.updateValue(listener, forKey: listener.form.name) { count(old, -1) }
        count(listener, 1)
    }

    private mutating func count(_ listener: QueryListener, _ sign: Int) {
        let path = listener.live.path
        let count = queryCount(at: path) + sign
        queryCounts[path] = count == 0 ? nil : count
        keptPlaces += sign * listener.keptPlaces
        byteCount += sign * listener.byteCount
    }

    /// Listeners of queries at a place.
    func queryCount(at path: Path) -> Int { queryCounts[path] ?? 0 }

    /// Whether data for other listeners may be on its way that a new listener of a query would take for its own.
    func mayMistake(_ live: LiveQuery, _ form: ListenerForm) -> Bool {
        ended.concern(live.path) || ended.concern(form.name) || queries[form.name].map { $0.live !== live } ?? false
    }

    /// Nil when there is no listener at the path, or not that of the request, if one is given.
    mutating func remove(_ path: Path, request: Int64? = nil) -> GroupSteps? {
        var steps = GroupSteps()
        let index = index(of: path)
        guard index < entries.count, entries[index].path == path else { return nil }
        if let request, entries[index].request != request { return nil }
        let removed = entries.remove(at: index)
        byteCount -= KeptBytes.listener(at: path)
        ended.add(path)
        guard removed.isMember else { return steps }
        steps.leave.append(path)
        // Listens that only it covered become visible. Ancestors come before descendants, so the last one joined covers
        // the rest.
        var covering: Path?
        forEachBelow(path, from: index) { entry in
            if let covering, covering.contains(entry.path) { return }
            covering = entry.path
            entry.isMember = true
            steps.join.append(entry.path)
        }
        return steps
    }

    mutating func removeQuery(_ name: ListenerForm.Name) -> QueryListener? {
        guard let query = queries.removeValue(forKey: name) else { return nil }
        count(query, -1)
        ended.add(name)
        return query
    }

    /// A listener listens to another query that selects the same.
    mutating func move(_ name: ListenerForm.Name, to live: LiveQuery) { queries[name]?.live = live }

    private func isCovered(_ path: Path) -> Bool {
        var ancestor = path.parent
        while let current = ancestor {
            let index = index(of: current)
            if index < entries.count, entries[index].path == current { return true }
            ancestor = current.parent
        }
        return false
    }

    private mutating func forEachBelow(_ path: Path, from start: Int, _ body: (inout Entry) -> Void) {
        var index = start
        while index < entries.count, path.contains(entries[index].path) {
            body(&entries[index])
            index += 1
        }
    }

    private func index(of path: Path) -> Int {
        var lower = 0
        var upper = entries.count
        while lower < upper {
            let middle = (lower + upper) / 2
            if entries[middle].path < path { lower = middle + 1 } else { upper = middle }
        }
        return lower
    }
}
