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

    /// Whether a write sets more rows one by one than a turn may, or has more increments. Administrators may do so.
    package func isTooMuch(_ request: Request) -> Bool {
        guard let examined = request.examined, !request.principal.isAdministrator else { return false }
        if examined.increments.count > rowsAtOnceMax { return true }
        guard examined.rowCount > rowsAtOnceMax else { return false }
        if case .setChildren(let base, let children) = request.operation {
            return !mayBeText(children, of: base, by: request.principal)
        }
        return true
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

    /// What was read for a large write, or found out about it, is out of date.
    ///
    /// - returns: whether to begin with it again, which is not to be done for ever.
    package func mayBeginAnew() -> Bool {
        // Decided with the old sums.
        pendingWrite.decision?.end()
        pendingWrite.reading = nil
        pendingWrite.restartCount += 1
        return pendingWrite.restartCount <= Self.restartsMax
    }

    /// A large write is done in one step, as it was sent.
    package func forgetPreparation() { (pendingWrite.decision, pendingWrite.reading) = (nil, nil) }

    /// Whether what was read for a large write, or decided about it, has changed before it could be made.
    func isOutdated(_ request: Request) -> Bool {
        if mayForward(request) || isTooMuch(request) { return false }
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
        return true
    }

    /// Reads on until all is read, or until `mayGoOn` answers false.
    ///
    /// - returns: whether nothing is left. Throws if the store could not be read.
    package func readSome(while mayGoOn: () -> Bool) throws(StorageError) -> Bool {
        var reads = 0
        while let reading = pendingWrite.reading, reading.isCurrent, let (path, isIncrement) = reading.takeNext() {
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

    /// The request with the values that its increments refer to; nil if these have changed.
    package func knowingBases(_ request: Request) -> Request? {
        guard var examined = request.examined else { return request }
        if !hasCurrentBases(request) { return nil }
        examined.bases = pendingWrite.reading?.bases ?? [:]
        return request.asking(request.operation, examined)
    }

    /// Whether the values that its increments were computed from are still present.
    package func hasCurrentBases(_ request: Request) -> Bool {
        guard let examined = request.examined, !examined.increments.isEmpty else { return true }
        return pendingWrite.reading.map { $0.isCurrent && $0.isAbout(request) } ?? false
    }

    // MARK: Deciding

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
        guard count < Self.decisionsMax, let judge, !isOpen, !request.principal.isAdministrator,
            let write = request.operation.write
        else { return false }
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
        guard let decision = pendingWrite.decision, decision.isCurrent else { return true }
        do throws(RuleTreeError) {
            return try decision.goOn(while: mayGoOn)
        } catch {
            // The turn meets the same error, and answers with it.
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
        guard let decision = pendingWrite.decision, decision.isCurrent, decision.isAbout(request) else { return nil }
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
