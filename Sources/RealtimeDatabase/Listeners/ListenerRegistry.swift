import HearthJSONTree

/// The listeners of a database: what each connection listens to, the groups that are told of changes, the queries with
/// their scans, and the data on which the rules made a listener depend.
///
/// Methods that change groups append the outputs that say so.
struct ListenerRegistry {
    /// The groups, and the queries, by place.
    private(set) var trie: ListenerTrie
    private(set) var sessions: [ConnectionID: SessionListens] = [:]
    private(set) var dependencies = ReadDependencies()
    var scans = QueryScans()
    /// The members of each group, while they are wanted (``keepMembers(_:)``).
    private(set) var members: [GroupID: Set<ConnectionID>]?
    /// The memory that listeners use.
    private let kept: KeptBytes

    /// `database` keeps the group numbers of several databases apart.
    init(database: UInt32, _ memory: KeptMemory) {
        trie = ListenerTrie(database: database)
        kept = KeptBytes(of: memory)
    }

    /// Connections that listen, or of which something is to be known, in the order of their numbers.
    var connections: [ConnectionID] { sessions.keys.sorted { $0.raw < $1.raw } }

    /// Listeners of all connections. O(connections).
    var count: Int { sessions.values.reduce(0) { $0 + $1.count } }

    // MARK: Memory

    /// Whether there is room for a further listener, which uses so many bytes.
    func hasRoom(_ bytes: Int, for request: Request) -> Bool {
        let before = sessions[request.connection]?.byteCount ?? 0
        return kept.hasRoom(before + bytes, for: request.connection.raw, of: request.client)
    }

    private func count(_ connection: ConnectionID, _ client: UInt64) {
        kept.set(sessions[connection]?.byteCount ?? 0, of: connection.raw, client: client)
    }

    // MARK: Plain listeners

    /// Adds a listener of a path; `audience` is that of a connection which has none yet.
    mutating func add(
        _ path: Path, for request: Request, _ audience: ListenerTrie.Audience, isStreamed: Bool,
        _ outputs: inout [Output]
    ) {
        let connection = request.connection
        let steps = sessions[connection, default: SessionListens(request.principal, client: request.client, audience)]
            .add(path, request: request.number, isStreamed: isStreamed)
        count(connection, request.client)
        move(steps, connection, &outputs)
    }

    /// Removes a listener of a path, if it is that of the request, where one is given.
    mutating func remove(
        _ path: Path, of connection: ConnectionID, request: Int64? = nil, _ outputs: inout [Output]
    ) {
        if let steps = sessions[connection]?.remove(path, request: request) {
            count(connection, 0)
            move(steps, connection, &outputs)
            dependencies.remove(.init(connection: connection, name: .plain(path)))
        }
        forget(connection)
    }

    /// From now on a connection is told the position after each change.
    mutating func tellPositions(for request: Request, _ outputs: inout [Output]) {
        let connection = request.connection
        guard connection.kind == .realtime, sessions[connection]?.audience != .positions else { return }
        let memberships = sessions[connection]?.memberships ?? []
        move(.init(leave: memberships), connection, &outputs)
        sessions[connection, default: SessionListens(request.principal, client: request.client)].audience = .positions
        move(.init(join: memberships), connection, &outputs)
    }

    private mutating func move(
        _ steps: SessionListens.GroupSteps, _ connection: ConnectionID, _ outputs: inout [Output]
    ) {
        guard let audience = sessions[connection]?.audience else { return }
        for path in steps.leave {
            if let group = trie.leave(path, audience, loop: connection.loop) {
                members?.remove(connection, from: group)
                outputs.append(.leave(group, connection))
            }
        }
        for path in steps.join {
            let group = trie.join(path, audience, loop: connection.loop)
            members?[group, default: []].insert(connection)
            outputs.append(.join(group, connection))
        }
    }

    // MARK: Listeners of queries

    /// Adds a listener of a query, in place of one of the same name.
    mutating func add(_ listener: QueryListener, for request: Request, _ outputs: inout [Output]) {
        let (live, form, connection) = (listener.live, listener.form, request.connection)
        if let old = sessions[connection]?.queries[form.name] {
            if old.live === live, old.form == form {
                sessions[connection]?.add(listener)
                return count(connection, request.client)
            }
            takeOut(form.name, of: connection, &outputs)
        }
        if live.isEmpty { trie.add(live) }
        let group = live.join(form, loop: connection.loop) { trie.makeGroup() }
        members?[group, default: []].insert(connection)
        sessions[connection, default: SessionListens(request.principal, client: request.client)].add(listener)
        count(connection, request.client)
        outputs.append(.join(group, connection))
    }

    /// Removes the listener of a query.
    mutating func remove(_ name: ListenerForm.Name, of connection: ConnectionID, _ outputs: inout [Output]) {
        dependencies.remove(.init(connection: connection, name: .query(name)))
        takeOut(name, of: connection, &outputs)
    }

    private mutating func takeOut(_ name: ListenerForm.Name, of connection: ConnectionID, _ outputs: inout [Output]) {
        guard let listener = sessions[connection]?.removeQuery(name) else { return }
        count(connection, 0)
        forget(connection)
        let group = listener.live.leave(listener.form, loop: connection.loop)
        dropIfUnused(listener.live)
        if let group {
            members?.remove(connection, from: group)
            outputs.append(.leave(group, connection))
        }
    }

    /// Makes commits keep a query up to date that has no listener yet.
    mutating func observe(_ live: LiveQuery) { trie.add(live) }

    /// Removes a query without listeners and waiting requests from the trie.
    mutating func dropIfUnused(_ live: LiveQuery) {
        guard live.isEmpty, !scans.isNeeded(live) else { return }
        live.scan = nil
        scans.remove(live)
        trie.remove(live)
    }

    /// Those who listen to queries listen to other ones that select the same. O(listeners).
    mutating func show(_ queries: [(live: LiveQuery, named: Query)], _ outputs: inout [Output]) {
        var others: [ObjectIdentifier: LiveQuery] = [:]
        for (live, query) in queries {
            guard let other = trie.query(query, at: live.path) else {
                trie.rename(live, query)
                continue
            }
            // Nobody keeps up the window of one without listeners.
            if live.isEmpty { continue }
            others[ObjectIdentifier(live)] = other
            if other.isEmpty {
                other.takePlace(of: live)
            } else if live.window.keepsOrder, !other.window.keepsOrder {
                other.window = QueryWindow(query, keepsOrder: true)
                other.window.fill(like: live.window)
            }
        }
        if !others.isEmpty {
            for connection in connections { move(connection, others, &outputs) }
        }
        for (live, _) in queries { dropIfUnused(live) }
    }

    private mutating func move(
        _ connection: ConnectionID, _ others: [ObjectIdentifier: LiveQuery], _ outputs: inout [Output]
    ) {
        let moving = (sessions[connection]?.queries ?? [:]).filter { others[ObjectIdentifier($0.value.live)] != nil }
        for (name, listener) in moving.sorted(by: { $0.key < $1.key }) {
            guard let other = others[ObjectIdentifier(listener.live)] else { continue }
            let old = listener.live.leave(listener.form, loop: connection.loop)
            let group = other.join(listener.form, loop: connection.loop) { trie.makeGroup() }
            sessions[connection]?.move(name, to: other)
            if let old {
                members?.remove(connection, from: old)
                outputs.append(.leave(old, connection))
            }
            members?[group, default: []].insert(connection)
            outputs.append(.join(group, connection))
        }
    }

    // MARK: Members

    /// Whether the members of groups are to be known from now on. O(listeners) if they were not.
    mutating func keepMembers(_ isWanted: Bool) {
        if isWanted == (members != nil) { return }
        members = isWanted ? knownMembers : nil
    }

    private var knownMembers: [GroupID: Set<ConnectionID>] {
        var known: [GroupID: Set<ConnectionID>] = [:]
        for (connection, session) in sessions {
            let plain = session.memberships.compactMap { trie.group(of: $0, session.audience) }
            let queries = session.queries.values.compactMap { $0.live.group(of: $0.form) }
            for group in plain + queries { known[group, default: []].insert(connection) }
        }
        return known
    }

    // MARK: Rules

    /// A connection acts for another principal from now on. False if it does already, or has nothing here.
    mutating func setPrincipal(_ principal: Principal, of connection: ConnectionID) -> Bool {
        guard let before = sessions[connection]?.principal, before != principal else { return false }
        sessions[connection]?.principal = principal
        return true
    }

    /// A listener is allowed as long as these places do not change.
    mutating func setDependencies(_ listener: ReadDependencies.Listener, _ places: Set<Path>) {
        dependencies.set(listener, places)
    }

    /// A listener depends on nothing.
    mutating func removeDependencies(_ listener: ReadDependencies.Listener) { dependencies.remove(listener) }

    // MARK: Ends

    /// A connection has ended.
    mutating func removeAll(of connection: ConnectionID) {
        guard let session = sessions.removeValue(forKey: connection) else { return }
        count(connection, 0)
        for path in session.memberships {
            let group = trie.leave(path, session.audience, loop: connection.loop)
            if let group { members?.remove(connection, from: group) }
        }
        for query in session.queries.values.sorted(by: { $0.live.serial < $1.live.serial }) {
            let group = query.live.leave(query.form, loop: connection.loop)
            if let group { members?.remove(connection, from: group) }
            dropIfUnused(query.live)
        }
        if dependencies.isEmpty { return }
        for path in session.paths { dependencies.remove(.init(connection: connection, name: .plain(path))) }
        for name in session.queries.keys { dependencies.remove(.init(connection: connection, name: .query(name))) }
    }

    /// Forgets a connection without listeners of which nothing is to be known. Event streams never say what their
    /// clients have.
    private mutating func forget(_ connection: ConnectionID) {
        guard let session = sessions[connection], session.isEmpty else { return }
        if session.ended.isEmpty || connection.kind == .http { sessions[connection] = nil }
    }

    /// Traps if parts of the state contradict each other. O(listeners).
    func checkInvariants() {
        var queries = 0
        for (connection, session) in sessions {
            queries += session.queries.count
            for (name, listener) in session.queries {
                precondition(listener.form.name == name, "a listener is known by another name")
                precondition(
                    trie.query(listener.live.query, at: listener.live.path) === listener.live,
                    "\(connection.raw) listens to a query that commits do not reach")
            }
        }
        precondition(members == nil || members == knownMembers, "the members of groups are others")
        kept.checkInvariants(
            Dictionary(uniqueKeysWithValues: sessions.map { ($0.key.raw, $0.value.byteCount) }))
        precondition(queries == 0 || trie.queriesCount > 0, "queries are listened to, and there are none")
    }
}

extension [GroupID: Set<ConnectionID>] {
    fileprivate mutating func remove(_ connection: ConnectionID, from group: GroupID) {
        self[group]?.remove(connection)
        if self[group]?.isEmpty == true { self[group] = nil }
    }
}
