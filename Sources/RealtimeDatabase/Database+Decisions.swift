import HearthJSONTree
import HearthTreeText
import HearthSecurityRules
package import HearthStorageErrors

/// Work for a large write before its turn, in steps: reading what it needs, and asking the rules.
extension Database {
    /// So many decisions are begun while others may change what the rules look at. From then on, writes there wait for
    /// the turn of the large write.
    private static let freeDecisionsMax = 3
    /// The server itself may still change that. Once so many were begun, the rules are asked in the turn.
    private static let decisionsMax = 6
    /// So often is a write begun anew because the server has changed what was read for it. Then it is done in one step.
    private static let restartsMax = 4
    /// The same for a write that the rules have denied each time, and that others may make out of date. Then it is
    /// denied.
    private static let deniedRestartsMax = 2

    // MARK: Reading

    /// Whether a write has to be looked at as a whole, on another thread, before anything else is done for it.
    package func mustExamine(_ request: Request) -> Bool {
        guard request.examined == nil else { return false }
        switch request.operation {
        case .update: return true
        case .setChildren(let base, let children):
            return children.hasServerValues || !mayBeText(children, of: base, by: request.principal)
        case let operation: return operation.hasServerValues
        }
    }

    /// Whether the turn of an examined write sets more than `count` rows one by one.
    package func setsRowsOneByOne(_ request: Request, moreThan count: Int) -> Bool {
        guard let examined = request.examined, examined.rowCount > count else { return false }
        if case .setChildren(let base, let children) = request.operation {
            return !mayBeText(children, of: base, by: request.principal)
        }
        return true
    }

    /// Whether a write sets more rows one by one than a turn may, or has more increments. Administrators may do so.
    package func isTooMuch(_ request: Request) -> Bool {
        guard let examined = request.examined, !request.principal.isAdministrator else { return false }
        return examined.increments.count > rowsAtOnceMax || setsRowsOneByOne(request, moreThan: rowsAtOnceMax)
    }

    func checkCost(of request: Request) throws(Failure) {
        guard isTooMuch(request), let examined = request.examined else { return }
        let text =
            if examined.increments.count > rowsAtOnceMax {
                "this write increments more than \(rowsAtOnceMax) values: divide it"
            } else {
                "this update sets about \(examined.rowCount) rows one by one, and may set \(rowsAtOnceMax): "
                    + "divide it, or set children of one place that has no index"
            }
        throw .refused(status: StaticText("too_big"), text)
    }

    /// Whether children that may come as one text must wait until the store has written or removed the rows there.
    package func mustWaitToAttach(_ request: Request) -> Bool {
        guard case .setChildren(let base, let children) = request.operation, !rows.canAttach(childrenOf: base) else {
            return false
        }
        return !children.hasServerValues && mayBeText(children, of: base, by: request.principal)
    }

    // MARK: Beginning anew

    /// What happens to a large write when what was read for it, or found out about it, is out of date.
    package enum Restart {
        case anew
        /// It was begun anew as often as it may.
        case inOneStep
        /// The same, and each time the rules have denied it.
        case denied
    }

    /// What was read for a large write, or found out about it, is out of date.
    package func restart(_ request: Request) -> Restart {
        pendingWrite.restartCount += 1
        let isDenied = !pendingWrite.isAllowed && pendingWrite.decision?.firstVerdict(on: request) == false
        if isDenied, pendingWrite.restartCount > Self.deniedRestartsMax {
            pendingWrite.isDeniedForGood = true
            return .denied
        }
        // Decided with the old sums.
        pendingWrite.decision?.end()
        pendingWrite.reading = nil
        return pendingWrite.restartCount > Self.restartsMax ? .inOneStep : .anew
    }

    /// A large write is done in one step, as it was sent.
    package func forgetPreparation() { (pendingWrite.decision, pendingWrite.reading) = (nil, nil) }

    /// Whether what was read for a large write, or decided about it, has changed before it could be made.
    func isOutdated(_ request: Request) -> Bool {
        if mayForward(request) || isTooMuch(request) || pendingWrite.isDeniedForGood { return false }
        if !hasCurrentBases(request) { return true }
        guard let decision = pendingWrite.decision else { return false }
        return decision.isAbout(request) && !decision.isCurrent
    }

    /// Begins to read what a large write needs. False if that is nothing.
    package func beginReading(for request: Request) -> Bool {
        pendingWrite.reading = nil
        guard let examined = request.examined, !examined.increments.isEmpty || !examined.places.isEmpty else {
            return false
        }
        pendingWrite.reading = WriteReading(for: request, examined)
        if !asksRules(for: request) { pendingWrite.isAllowed = true }
        return true
    }

    /// Reads on until all is read, or until `mayGoOn` answers false.
    ///
    /// - returns: whether nothing is left. Throws if the store could not be read.
    package func readSome(while mayGoOn: () -> Bool) throws(StorageError) -> Bool {
        var reads = 0
        while let reading = pendingWrite.reading, reading.isCurrent || !pendingWrite.isAllowed,
            let (path, isIncrement) = reading.takeNext()
        {
            do throws(Failure) {
                let value = try leaf(at: path)
                if isIncrement { reading.add(value, at: path) }
            } catch {
                guard case .unavailable(let error) = error else { continue }
                throw error
            }
            reads += 1
            if reads.isMultiple(of: Self.readsAtOnce), !mayGoOn() { return false }
        }
        return true
    }

    private static let readsAtOnce = 16

    /// The request with the values that its increments refer to; nil if these have changed. Of a write that is not
    /// allowed yet, they may have.
    package func knowingBases(_ request: Request) -> Request? {
        guard var examined = request.examined else { return request }
        if pendingWrite.isAllowed, !hasCurrentBases(request) { return nil }
        examined.bases = pendingWrite.reading?.bases ?? [:]
        return request.asking(request.operation, examined)
    }

    /// Whether the values that its increments were computed from are still present.
    package func hasCurrentBases(_ request: Request) -> Bool {
        guard let examined = request.examined, !examined.increments.isEmpty else { return true }
        return pendingWrite.reading.map { $0.isCurrent && $0.isAbout(request) } ?? false
    }

    // MARK: Deciding

    private func asksRules(for request: Request) -> Bool {
        judge != nil && !isOpen && !request.principal.isAdministrator
    }

    /// Whether the rules are to be asked about a write before others wait for it, as they do at its increments.
    /// Otherwise a client without the right to write could keep them waiting, one write after another.
    package func mustBeAllowed(_ request: Request) -> Bool {
        guard let examined = request.examined, !examined.increments.isEmpty, !pendingWrite.isAllowed else {
            return false
        }
        return !mayForward(request) && !isTooMuch(request) && asksRules(for: request)
    }

    /// Whether the rules have decided about such a write, and nothing has changed since.
    package func hasFirstDecision(on request: Request) -> Bool {
        guard let decision = pendingWrite.decision, decision.firstVerdict(on: request) != nil else { return false }
        return decision.isCurrent && hasCurrentBases(request)
    }

    package enum FirstDecision {
        /// It was begun, and is made with ``decideSome(while:)``.
        case begun
        /// It holds.
        case current
        /// What it was based on has changed meanwhile.
        case outdated
    }

    /// Asks the rules about a write that ``mustBeAllowed(_:)``. From the time at which they have allowed it, others
    /// wait for it.
    package func decideFirst(on request: Request, now: Int64) -> FirstDecision {
        if let isAllowed = pendingWrite.decision?.firstVerdict(on: request) {
            if isAllowed { (pendingWrite.isAllowed, pendingWrite.restartCount) = (true, 0) }
            return hasFirstDecision(on: request) ? .current : .outdated
        }
        guard let judge, let reading = pendingWrite.reading, let write = request.operation.write else {
            return .outdated
        }
        let tree = EarlierTree(visibleTree(at: now), reading)
        pendingWrite.decision = SteppedDecision(
            on: request, write, by: judge.program, in: tree, now: request.examined?.time ?? now, holdsPlaces: false,
            isFirst: true)
        return .begun
    }

    /// Begins to ask the rules about a write, at the time of this step, or at that of its server values.
    ///
    /// - parameter isLast: nothing else has to be done for it before its turn. Before that, other writes do not wait
    ///   for a decision that was begun over and over.
    /// - returns: whether rules have to be asked before the turn, with ``decideSome(while:)``. Also false if the
    ///   earlier result is still valid.
    package func beginDecision(on request: Request, isLast: Bool, now: Int64) -> Bool {
        let last = pendingWrite.decision.flatMap { $0.isAbout(request) ? $0 : nil }
        let count = pendingWrite.decisionCount
        if let last, last.isCurrent || count >= Self.freeDecisionsMax && !isLast { return false }
        pendingWrite.decision = nil
        guard count < Self.decisionsMax, let judge, asksRules(for: request), let write = request.operation.write else {
            return false
        }
        pendingWrite.decision = SteppedDecision(
            on: request, write, by: judge.program, in: visibleTree(at: now), now: request.examined?.time ?? now,
            holdsPlaces: count >= Self.freeDecisionsMax)
        pendingWrite.decisionCount += 1
        return true
    }

    /// Continues until the write is decided, or until `mayGoOn` answers false.
    ///
    /// - returns: whether nothing is left to do before the turn.
    package func decideSome(while mayGoOn: () -> Bool) -> Bool {
        guard let decision = pendingWrite.decision, decision.goesOn else { return true }
        do throws(RuleTreeError) {
            return try decision.goOn(while: mayGoOn)
        } catch {
            // The turn meets the same error, and answers with it.
            pendingWrite.isAllowed = true
            return true
        }
    }

    /// The rules have denied the write that was decided last.
    package var isDecisionDenied: Bool {
        guard let decision = pendingWrite.decision, decision.isCurrent else { return false }
        return decision.explanation.map { !$0.verdict.isAllowed } ?? false
    }

    /// The large write has had its turn, or gets none. True if other requests have waited for that.
    package func endPendingWrite() -> Bool {
        defer { pendingWrite = PendingWrite() }
        return pendingWrite.keepsOthersWaiting
    }

    /// The result for a request, if it is still valid.
    func explanation(of request: Request) -> Explanation? {
        guard let decision = pendingWrite.decision, decision.isAbout(request),
            decision.isCurrent || pendingWrite.isDeniedForGood
        else { return nil }
        return decision.explanation
    }
}

extension Operation {
    /// The assignments of a request; nil if it writes nothing, or if they are known only in its turn.
    fileprivate var write: RuleOperation? {
        let entries: [(target: WriteTarget, value: IncomingValue)]
        switch self {
        case .set(let target, let value, _, _): entries = [(target, value)]
        case .update(_, let list): entries = list
        case .setChildren(let base, let children):
            if children.hasServerValues { return nil }
            if children.json.hasAnyChild { return .writeChildren(of: base, children.json) }
            entries = children.entries(of: base)
        default: return nil
        }
        if entries.contains(where: { $0.value.hasServerValues }) { return nil }
        return .write(entries.map { Assignment(target: $0.target, value: $0.value.json) })
    }
}
