import HearthJSONTree
import HearthSecurityRules

/// The rules' decision on a large write, made in steps before its turn. A commit that changes data that the rules have
/// read makes it obsolete. The first one on a write with increments is made to the end nevertheless, as it decides
/// whether others wait for the write.
final class SteppedDecision {
    private let connection: ConnectionID
    private let number: Int64
    private let judge: RulesJudge
    private let tree: NotingTree
    /// Writes at what the rules have looked at wait for the turn.
    private let waitsAreAsked: Bool
    private let isFirst: Bool
    private(set) var isCurrent = true
    private var isEnded = false
    /// Nil until it is made.
    private(set) var explanation: Explanation?

    init(
        on request: Request, _ write: RuleOperation, by program: RulesProgram, in tree: any RuleTree, now: Int64,
        holdsPlaces: Bool, isFirst: Bool = false
    ) {
        connection = request.connection
        number = request.number
        judge = RulesJudge(program)
        self.tree = NotingTree(tree)
        waitsAreAsked = holdsPlaces
        self.isFirst = isFirst
        judge.begin(write, RuleContext(auth: request.principal.auth, now: now), in: self.tree)
    }

    /// A connection's requests are processed in order, so at most one of its number can come.
    func isAbout(_ request: Request) -> Bool { connection == request.connection && number == request.number }

    /// Whether there is more to ask.
    var goesOn: Bool { explanation == nil && (isCurrent || isFirst && !isEnded) }

    /// The first decision on a request: allowed, or denied; nil if it was not made.
    func firstVerdict(on request: Request) -> Bool? {
        guard isFirst, !isEnded, isAbout(request) else { return nil }
        return explanation?.verdict.isAllowed
    }

    /// True once there is a decision.
    func goOn(while mayGoOn: () -> Bool) throws(RuleTreeError) -> Bool {
        explanation = try judge.goOn(while: mayGoOn)
        return explanation != nil
    }

    var holdsPlaces: Bool { waitsAreAsked && isCurrent }

    /// Whether a write at a place has to wait.
    func holds(_ place: Path) -> Bool { holdsPlaces && tree.isConcerned(by: place) }

    /// Something changes in the tree.
    func note(_ assignments: [Assignment]) {
        if isCurrent, assignments.contains(where: { tree.isConcerned(by: $0.target.path) }) { isCurrent = false }
    }

    /// The tree, or the rules, are others.
    func end() { (isCurrent, isEnded) = (false, true) }
}
