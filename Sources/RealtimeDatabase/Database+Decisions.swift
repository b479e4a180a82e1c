import HearthJSONTree
import HearthTreeText
import HearthSecurityRules

/// Asking the rules about a large write in steps, before its turn.
extension Database {
    /// So often is a decision started over because of a commit that changed what the rules had looked at. Then its turn
    /// makes it in one step.
    private static let restartsMax = 3

    /// Begins to ask the rules about a write, at the time of this step. Server values get theirs in the turn, so that
    /// writes with them are left to it.
    ///
    /// - returns: whether rules have to be asked before the turn, with ``decideSome(while:)``. Also false if the
    ///   earlier result is still valid.
    package func beginDecision(on request: Request, now: Int64) -> Bool {
        let last = decision.flatMap { $0.isAbout(request) ? $0 : nil }
        if let last, last.isCurrent || last.restarts == Self.restartsMax { return false }
        decision = nil
        guard let judge, !isOpen, !request.principal.isAdministrator, let write = request.operation.write else {
            return false
        }
        decision = SteppedDecision(
            on: request, write, by: judge.program, in: visibleTree(at: now), now: now,
            restarts: last.map { $0.restarts + 1 } ?? 0)
        return true
    }

    /// Continues until the write is decided, or until `mayGoOn` answers false.
    ///
    /// - returns: whether nothing is left to do before the turn.
    package func decideSome(while mayGoOn: () -> Bool) -> Bool {
        guard let decision, decision.isCurrent else { return true }
        do throws(RuleTreeError) {
            return try decision.goOn(while: mayGoOn)
        } catch {
            // The turn meets the same error, and answers with it.
            return true
        }
    }

    /// The rules have denied the write that was decided last.
    package var isDecisionDenied: Bool { decision?.explanation.map { !$0.verdict.isAllowed } ?? false }

    /// The write that was asked about has had its turn.
    package func endDecision() { decision = nil }

    /// The result for a request, if it is still valid.
    func explanation(of request: Request) -> Explanation? {
        guard let decision, decision.isCurrent, decision.isAbout(request) else { return nil }
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
