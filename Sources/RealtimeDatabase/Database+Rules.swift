import HearthJSONTree
package import HearthSecurityRules
import HearthStorageErrors

extension Database {
    /// Denials of one turn that are explained: a denied request should not cost more than an allowed one.
    private static let explainedMax = 16
    /// Characters of a reason.
    private static let reasonMax = 2000

    /// Decides by these rules from now on; without any, everything is allowed. Listeners that they do not allow end.
    ///
    /// - parameter explains: clients hear why they are denied.
    package func setRules(_ program: RulesProgram?, explains: Bool = false, now: Int64) {
        var turn = Turn(record: LogRecord(firstSequence: sequence + 1, time: now), outputs: [])
        // Listeners that are moved would miss a commit that is being told.
        if tornBy == nil { try? tellOn(in: &turn, costMax: .max) }
        judge = program.map(RulesJudge.init)
        pendingWrite.decision?.end()
        explainsDenials = explains
        let expiries = indexes.settings.expiries
        setIndexes(program?.indexes ?? [], program?.settings ?? DatabaseSettings())
        listeners.keepMembers(countsToldBytes)
        endHiding(unless: expiries.allSatisfy(indexes.settings.expiries.contains), in: &turn)
        for connection in listeners.connections { judgeListeners(of: connection, in: &turn) }
        if turn.outputs.isEmpty { return }
        log.append(
            WaitingTurn(
                requests: [], now: now, sequence: sequence, outputs: turn.outputs, readBytes: turn.readBytes))
    }

    /// The results of the rules' expressions, gathered from when it is set until rules are set again; nil if not
    /// wanted.
    package var coverage: RulesCoverage? {
        get { judge?.coverage }
        set { judge?.coverage = newValue }
    }

    /// Denials since the last call.
    package func takeDenials() -> [DeniedRequest] {
        defer { denials = [] }
        return denials
    }

    /// Whether a request would leave something to be kept: it writes, and the rules do not forbid it.
    package func mayWrite(_ request: Request, now: Int64) -> Bool {
        // An empty update is allowed to everybody, and leaves nothing.
        guard let entries = request.operation.entries, !entries.isEmpty else { return false }
        let operation = RuleOperation.write(entries.compactMap { resolved($0, now) })
        return (try? isAllowed(operation, by: request.principal, now: now)) ?? true
    }

    /// The decision of the rules and the settings on an operation now, for any caller.
    func explain(
        _ operation: Operation, by principal: Principal, now: Int64
    ) throws(Failure) -> Explanation {
        switch operation {
        case .get(let path, let query, _):
            return try explain(RuleOperation.reads(of: path, query), areAllNeeded: false, by: principal, now: now)
        case .listen(let path, _, _, _):
            return try explain(RuleOperation.reads(of: path, nil), areAllNeeded: false, by: principal, now: now)
        case .listenQuery(let path, let query, _, _, _, _):
            return try explain(RuleOperation.reads(of: path, query), areAllNeeded: false, by: principal, now: now)
        case .job(let place, let job):
            var asked = Self.permissions(of: job, at: place)
            if !job.entries.isEmpty { asked.append(.write(job.entries.compactMap { resolved($0, now) })) }
            return try explain(asked, areAllNeeded: true, by: principal, now: now)
        default: break
        }
        guard let entries = operation.entries else { return .withoutRules }
        let assignments = entries.compactMap { resolved($0, now) }
        var told = try explain([.write(assignments)], areAllNeeded: true, by: principal, now: now)
        if told.isAllowed, !assignments.isEmpty { told.refusal = try refusal(of: assignments, by: principal) }
        return told
    }

    /// The rules' decision on several operations, of which all or one must be allowed: that of the deciding one, or of
    /// the first.
    private func explain(
        _ operations: [RuleOperation], areAllNeeded: Bool, by principal: Principal, now: Int64
    ) throws(Failure) -> Explanation {
        guard let judge else { return .withoutRules }
        let context = RuleContext(auth: principal.auth, now: now)
        var first: Explanation?
        for operation in operations {
            let told = try Failure.reading { () throws(RuleTreeError) in
                try judge.explain(operation, context, in: visibleTree(at: now))
            }
            if told.isAllowed != areAllNeeded { return told }
            first = first ?? told
        }
        return first ?? .withoutRules
    }

    /// Why the settings refuse a write; nil if they do not.
    private func refusal(of assignments: [Assignment], by principal: Principal) throws(Failure) -> String? {
        do throws(Failure) {
            if hasDerivedValues {
                _ = try derived(assignments, nil, by: principal)
            } else {
                try checkUnique(assignments, nil)
            }
            return nil
        } catch {
            switch error {
            case .notUnique, .refusedBySetting: return error.message
            default: throw error
            }
        }
    }

    private func resolved(_ entry: (target: WriteTarget, value: IncomingValue), _ now: Int64) -> Assignment? {
        do throws(Failure) {
            return Assignment(target: entry.target, value: try resolve(entry.value, at: entry.target, now: now))
        } catch {
            return nil
        }
    }

    // MARK: Deciding

    /// The data that rules see.
    func visibleTree(at now: Int64) -> any RuleTree { expired(at: now).map { UnexpiredTree(rows, $0) } ?? rows }

    /// Whether the rules allow an operation now. Server values in it are resolved. That it is not allowed is not noted.
    func isAllowed(_ operation: RuleOperation, by principal: Principal, now: Int64) throws(Failure) -> Bool {
        guard let judge, !isOpen, !principal.isAdministrator else { return true }
        let context = RuleContext(auth: principal.auth, now: now)
        return try Failure.reading { () throws(RuleTreeError) in
            try judge.decide(operation, context, in: visibleTree(at: now)).isAllowed
        }
    }

    /// Throws unless the principal of the turn may do this.
    func checkAllowed(_ operation: RuleOperation, in turn: borrowing Turn) throws(Failure) {
        if try isAllowed(operation, in: turn) { return }
        throw denial(of: operation, by: turn.principal, now: turn.record.time)
    }

    /// Whether the principal of the turn may make the writes of its request.
    func mayWrite(_ write: RuleOperation, in turn: borrowing Turn) throws(Failure) -> Bool {
        if let explanation = turn.explanation { return explanation.verdict.isAllowed }
        return try isAllowed(write, in: turn)
    }

    /// The answer if it may not.
    func denial(of write: RuleOperation, in turn: borrowing Turn) -> Failure {
        denial(
            of: write, by: turn.principal, now: turn.record.time, explained: turn.explanation)
    }

    /// Whether the principal of the turn may do this.
    func isAllowed(_ operation: RuleOperation, in turn: borrowing Turn) throws(Failure) -> Bool {
        try isAllowed(operation, by: turn.principal, now: turn.record.time)
    }

    /// Whether somebody may read the selection of a query.
    func mayRead(_ path: Path, _ query: Query, by principal: Principal, now: Int64) throws(Failure) -> Bool {
        for read in RuleOperation.reads(of: path, query) where try isAllowed(read, by: principal, now: now) {
            return true
        }
        return false
    }

    /// Throws unless the principal of the turn may read the selection of a query.
    func checkMayRead(_ path: Path, _ query: Query, in turn: borrowing Turn) throws(Failure) {
        if try mayRead(path, query, by: turn.principal, now: turn.record.time) { return }
        throw denial(of: RuleOperation.reads(of: path, query)[0], by: turn.principal, now: turn.record.time)
    }

    /// The same for a listener, which may continue as long as the data that the rules have read is unchanged.
    func checkAllowed(
        _ listener: ReadDependencies.Listener, toRead path: Path, _ query: Query?, by principal: Principal, now: Int64
    ) throws(Failure) {
        let reads = RuleOperation.reads(of: path, query)
        for read in reads {
            if let places = try placesThatAllow(read, by: principal, now: now) {
                return listeners.setDependencies(listener, places)
            }
        }
        listeners.removeDependencies(listener)
        throw denial(of: reads[0], by: principal, now: now)
    }

    /// The data that the rules read when they allowed a read; nil if they deny it.
    private func placesThatAllow(
        _ read: RuleOperation, by principal: Principal, now: Int64
    ) throws(Failure) -> Set<Path>? {
        guard let judge, !principal.isAdministrator, case .read(let path, _) = read,
            judge.program.readDependsOnData(at: path)
        else { return try isAllowed(read, by: principal, now: now) ? [] : nil }
        let context = RuleContext(auth: principal.auth, now: now)
        let (verdict, places) = try Failure.reading { () throws(RuleTreeError) in
            try judge.decideNotingPlaces(read, context, in: visibleTree(at: now))
        }
        return verdict.isAllowed ? places : nil
    }

    /// The answer to a denied request. It is noted, and explained unless too many were denied in this turn.
    ///
    /// - parameter explained: the rules' decision, if it is known.
    func denial(
        of operation: RuleOperation, by principal: Principal, now: Int64, explained: Explanation? = nil
    ) -> Failure {
        let context = RuleContext(auth: principal.auth, now: now)
        var reason: String?
        if denials.count < Self.explainedMax,
            let explanation = try? explained ?? judge?.explain(operation, context, in: visibleTree(at: now))
        {
            reason = String(explanation.summary.prefix(Self.reasonMax))
        }
        let (path, isWrite) =
            switch operation {
            case .read(let path, _): (path, false)
            case .write(let assignments): (assignments.first?.target.path ?? .root, true)
            case .writeChildren(of: let base, _): (base, true)
            }
        denials.append(DeniedRequest(time: now, uid: principal.uid, path: path, isWrite: isWrite, reason: reason))
        return .denied(explainsDenials ? reason ?? "" : "")
    }

    // MARK: Listeners

    /// Ends those listeners of a connection that the rules do not allow (any more).
    func judgeListeners(of connection: ConnectionID, in turn: inout Turn) {
        guard let session = listeners.sessions[connection] else { return }
        for path in session.paths {
            judge(ReadDependencies.Listener(connection: connection, name: .plain(path)), in: &turn)
        }
        for name in session.queries.keys.sorted() {
            judge(ReadDependencies.Listener(connection: connection, name: .query(name)), in: &turn)
        }
    }

    /// Ends a listener if the rules do not allow it (any more).
    func judge(_ listener: ReadDependencies.Listener, in turn: inout Turn) {
        let connection = listener.connection
        guard let session = listeners.sessions[connection] else { return }
        let path: Path
        let query: QueryListener?
        switch listener.name {
        case .plain(let place):
            guard session.contains(place) else { return }
            (path, query) = (place, nil)
        case .query(let name):
            guard let listener = session.queries[name] else { return }
            (path, query) = (listener.live.path, listener)
        }
        do throws(Failure) {
            try checkAllowed(listener, toRead: path, query?.asked, by: session.principal, now: turn.record.time)
        } catch {
            // Also if the rules cannot be evaluated: listeners must not receive data that may be denied.
            switch listener.name {
            case .plain: endListener(path, of: connection, in: &turn)
            case .query(let name): endQueryListener(name, of: connection, in: &turn)
            }
            turn.outputs.append(.revoked(connection, path, query?.revoked ?? .plain))
        }
    }
}

extension Operation {
    /// The places that it writes, now or later; nil if it does not write.
    fileprivate var entries: [(target: WriteTarget, value: IncomingValue)]? {
        switch self {
        case .set(let target, let value, _, _): [(target, value)]
        case .update(_, let list), .onDisconnect(let list): list
        case .setChildren(let base, let children): children.entries(of: base)
        default: nil
        }
    }
}

extension RuleOperation {
    static func read(_ path: Path, _ query: Query? = nil) -> RuleOperation {
        .read(path, query.map { RuleQuery($0) })
    }
}
