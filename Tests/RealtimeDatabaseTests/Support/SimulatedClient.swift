import HearthJSONTree
import HearthRealtimeDatabase
import HearthStorageErrors

/// A connection's far end: stores its messages, and detects those that it must not get.
struct SimulatedClient {
    let connection: ConnectionID
    private var requestsMade: Int64 = 0
    /// Requests that wait for their replies, in order.
    private(set) var waiting: [(number: Int64, operation: Operation)] = []
    /// Paths that are listened to: the reply has come.
    private(set) var listening: Set<Path> = []
    /// Listeners of queries: the reply has come.
    private(set) var queries: [ListenerForm.Name: SimulatedQuery] = [:]
    /// Listeners that failed when their data was to be sent: the database may not know yet.
    private(set) var failed: Set<Path> = []
    /// What the pushes add up to.
    private(set) var tree = NaiveDatabase()
    /// It asks for positions, to resume from them on another connection.
    let resumes: Bool
    /// For paths that it listens to, or listened to on an earlier connection: the last point of which it has heard.
    private(set) var positions: [Path: Position] = [:]
    var failure: String?

    /// What a client has when its connection ends.
    struct Kept {
        var tree: NaiveDatabase
        var positions: [Path: Position]
    }

    /// `kept` is what a client has that was connected before.
    init(connection: ConnectionID, kept: Kept?, resumes: Bool) {
        self.connection = connection
        self.resumes = resumes
        tree = kept?.tree ?? NaiveDatabase()
        if resumes { positions = kept?.positions ?? [:] }
    }

    var kept: Kept { Kept(tree: tree, positions: positions) }

    /// Where it listened on an earlier connection, and does not yet on this one.
    var pathToResume: Path? {
        let asked = waiting.compactMap { request -> Path? in
            if case .listen(let path, _, _, _) = request.operation { path } else { nil }
        }
        return positions.keys.sorted().first { !listening.contains($0) && !asked.contains($0) }
    }

    /// As a client that resumes asks for it.
    func resuming(_ operation: Operation) -> Operation {
        guard resumes, case .listen(let path, _, nil, _) = operation else { return operation }
        // What it has is known to be of a position only while no other listener has changed it.
        return .listen(path, known: nil, since: positions[path].map { .position($0) } ?? .nothing)
    }

    mutating func request(_ operation: Operation) -> Request {
        requestsMade += 1
        switch operation {
        case .disconnect, .forfeit, .dropListener: break
        default: waiting.append((requestsMade, operation))
        }
        return Request(connection: connection, number: requestsMade, operation: operation)
    }

    /// The value at a path, unless data for an earlier listener may still be in transit.
    func settledValue(at path: Path) -> CanonicalJSON? {
        let isSettled = waiting.allSatisfy { request in
            // Also what a listener that ends was still told.
            switch request.operation {
            case .listen(let other, _, _, _), .unlisten(let other): !path.contains(other) && !other.contains(path)
            default: true
            }
        }
        return isSettled ? value(at: path) : nil
    }

    func value(at path: Path) -> CanonicalJSON { tree.tree.value(at: path) }

    // MARK: Receiving

    /// Takes an output that concerns the connection.
    mutating func receive(_ output: Output) {
        switch output {
        case .push(let change, let position, _):
            note(position, of: change)
            for assignment in change.assignments {
                if !mayHear(of: assignment.target.path) { failure = failure ?? "\(connection.raw) heard of \(change)" }
                tree.assign(assignment)
            }
        case .missed(_, let update, _):
            if !resumes { failure = failure ?? "\(connection.raw) was told what it missed, and did not ask" }
            for assignment in update?.change.assignments ?? [] { tree.assign(assignment) }
        case .initial(_, let path, let value, _):
            if !mayHear(of: path) { failure = failure ?? "\(connection.raw) got data at \(path)" }
            tree.assign(Assignment(target: WriteTarget(path: path), value: value))
        case .initialQuery(_, let push): receive(push, isInitial: true)
        case .pushQuery(let push, _): receive(push, isInitial: false)
        case .reply(_, let number, let reply): finish(number, reply)
        case .revoked(_, let path, let listener, let status): lose(listener, at: path, status)
        case .initialParts: failure = failure ?? "\(connection.raw) got parts that it did not ask for"
        case .hold, .join, .leave, .stream: break
        }
    }

    /// A listener has ended. That may be because the commit that it was being told of was interrupted by a failure.
    private mutating func lose(_ listener: RevokedListener, at path: Path, _ status: StaticText?) {
        if status == nil { failure = failure ?? "\(connection.raw) lost a listener, and there are no rules" }
        switch listener {
        case .plain: failure = failure ?? "\(connection.raw) lost a listener of \(path)"
        case .events(let tag): queries[.events(tag: tag)] = nil
        // These have no text that would tell them apart.
        case .query: queries = queries.filter { $0.value.path != path || $0.value.form.name.isEvents }
        }
    }

    private mutating func receive(_ push: QueryPush, isInitial: Bool) {
        let name = push.form.name
        let asked = waiting.first { request in
            if case .listenQuery(_, _, let form, _, _, _) = request.operation { form.name == name } else { false }
        }
        if isInitial, case .listenQuery(let path, let query, let form, _, _, _)? = asked?.operation {
            queries[name] = SimulatedQuery(path: path, query: query, form: form)
        }
        guard queries[name] != nil else {
            // Stale tags are ignored.
            return
        }
        if let problem = queries[name]?.take(push, isInitial: isInitial) {
            failure = failure ?? "\(connection.raw) \(name): \(problem)"
        }
    }

    /// The large read is done; nil when it failed.
    mutating func receive(_ value: CanonicalJSON?, of read: SnapshotRead, error: StorageError?) {
        if let value, case .listen = read.purpose {
            tree.assign(Assignment(target: WriteTarget(path: read.path), value: value))
        }
        let reply: Reply =
            switch read.purpose {
            case .get: .value(value ?? .null)
            case .listen: read.position.map { .listeningAt($0, recovered: false) } ?? .listening
            }
        if error != nil, case .listen = read.purpose {
            failed.insert(read.path)
            stop(read.path)
        }
        finish(read.number, error.map { .failed(.unavailable($0)) } ?? reply)
    }

    /// A change is heard of, at a position if the client wants to know.
    private mutating func note(_ position: Position?, of change: Change) {
        if listening.isEmpty || !resumes { return }
        guard let position else {
            failure = failure ?? "\(connection.raw) heard of a change without its position"
            return
        }
        for path in listening where positions[path] != nil {
            let isConcerned = change.assignments.contains {
                $0.target.path.contains(path) || path.contains($0.target.path)
            }
            if isConcerned { positions[path] = position }
        }
    }

    private mutating func finish(_ number: Int64, _ reply: Reply) {
        guard let first = waiting.first, first.number == number else {
            failure = failure ?? "\(connection.raw) got the reply \(number) out of order"
            return
        }
        waiting.removeFirst()
        switch (first.operation, reply) {
        case (.listen(let path, _, _, _), .listening): listening.insert(path)
        case (.listen(let path, _, _, _), .listeningAt(let position, _, _)):
            listening.insert(path)
            positions[path] = position
        case (.listen(let path, _, _, _), _): stop(path)
        case (.unlisten(let path), _): stop(path)
        case (.listenQuery(_, _, let form, _, _, _), .listening),
            (.listenQuery(_, _, let form, _, _, _), .listeningUnindexed):
            queries[form.name]?.isSettled = true
        case (.listenQuery(_, _, let form, _, _, _), _): queries[form.name] = nil
        case (.unlistenQuery(let name), _): queries[name] = nil
        default: break
        }
    }

    /// Its value at a path is no longer kept up to date.
    private mutating func stop(_ path: Path) {
        listening.remove(path)
        positions[path] = nil
    }

    /// A listener at or above the path is there, or asked for.
    private func mayHear(of path: Path) -> Bool {
        if listening.union(failed).contains(where: { $0.contains(path) }) { return true }
        return waiting.contains { request in
            if case .listen(let listened, _, _, _) = request.operation { listened.contains(path) } else { false }
        }
    }
}

extension ListenerForm.Name {
    fileprivate var isEvents: Bool { if case .events = self { true } else { false } }
}
