package import HearthJSONTree

/// The requested operation: a read or listen at a path, or the changes of one write. A priority that is assigned alone
/// counts as a write of its node that carries no children.
package enum RuleOperation: Sendable {
    case read(Path, RuleQuery?)
    /// All or nothing. Server values are resolved; no place lies at or below another one, but for priorities
    /// (Protocol.md 4.6).
    case write([Assignment])
    /// The same for children of one place, in one text (``CanonicalJSON/childAssignments(of:)``). At least one of them
    /// is not removed.
    case writeChildren(of: Path, CanonicalJSON)
}

/// Who asks, and when.
package struct RuleContext: Sendable {
    /// Nil when signed out.
    package var auth: RuleAuth?
    /// The time of the server, in milliseconds since 1970: one for a whole request.
    package var now: Int64

    package init(auth: RuleAuth?, now: Int64) {
        self.auth = auth
        self.now = now
    }
}

package enum Verdict: Hashable, Sendable {
    case allowed
    case denied(Denial)

    package var isAllowed: Bool { self == .allowed }
}

/// Why an operation is denied, in short. ``RulesJudge/explain(_:_:in:)`` tells the rest.
package struct Denial: Hashable, Sendable {
    /// `.read` or `.write`: no rule on the way to the place grants it. `.validate`: the rule at the place does not
    /// hold.
    package var kind: RuleKind
    package var place: Path
    /// The position of the `.validate` in the rules file.
    package var position: RulePosition?
}
