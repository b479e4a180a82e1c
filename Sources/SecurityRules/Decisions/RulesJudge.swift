package import HearthJSONTree
import HearthTreeText

/// Decides operations by a program (docs/rules.md 2). One of them serves one thread at a time; it keeps its memory, so
/// a common decision allocates nothing.
package final class RulesJudge {
    /// Rules that hold, in one explanation.
    private static let explainedMax = 100

    package let program: RulesProgram
    private let evaluator: Evaluator
    /// The places of the rules on the way to the operation's place, the root's first.
    private var walk: [Int] = []
    /// Of each level of the way: whether its `.write` grants, once that is known.
    private var grants: [Bool?] = []
    /// Levels of the way whose `.validate` was found to hold.
    private var validated = 0
    /// Of the write that is decided: how many of its assignments were looked at, and where the last of them is being
    /// looked through.
    private var assignmentsSeen = 0
    /// The next child of a write of children, and those after it.
    private var nextChild: CanonicalJSON.Child?
    private var children: CanonicalJSON.Children?
    private var descent: [Level] = []
    /// The rule that has denied it, with the levels of the place that it was asked for.
    private var broken: (rule: Int, depth: Int)?
    /// Every rule that is asked, when somebody wants to know.
    private var steps: [ExplainedRule]?
    /// Gathers the results of expressions in decisions, when somebody wants to know. Explanations do not count.
    package var coverage: RulesCoverage?

    package init(_ program: RulesProgram) {
        self.program = program
        evaluator = Evaluator(program.code)
    }

    /// Whether the rules allow an operation on a tree. A rule that cannot be evaluated counts as false.
    ///
    /// - parameter readStepsMax: a rule for a read that searches in more steps cannot be evaluated; nil for the usual
    ///   limit.
    package func decide(
        _ operation: RuleOperation, _ context: RuleContext, in tree: any RuleTree, readStepsMax: Int? = nil
    ) throws(RuleTreeError) -> Verdict {
        defer { rest() }
        switch operation {
        case .read(let path, let query):
            evaluator.begin(context, in: tree, writing: 0, stepsMax: readStepsMax ?? .max)
            evaluator.query = query
            enter(path)
            return try isGranted(.read) ? .allowed : .denied(Denial(kind: .read, place: path))
        case .write, .writeChildren:
            begin(operation, context, in: tree)
            while !isDecided { if let denial = try look() { return .denied(denial) } }
            return .allowed
        }
    }

    /// The same, and the places that were looked at before the operation: only a change at, above or below one of them
    /// can change the verdict of a read.
    package func decideNotingPlaces(
        _ operation: RuleOperation, _ context: RuleContext, in tree: any RuleTree
    ) throws(RuleTreeError) -> (verdict: Verdict, places: Set<Path>) {
        evaluator.lookedAt = []
        defer { evaluator.lookedAt = nil }
        let verdict = try decide(operation, context, in: tree)
        return (verdict, evaluator.lookedAt ?? [])
    }

    /// Decides again and tells all about it. Costs many times as much.
    package func explain(
        _ operation: RuleOperation, _ context: RuleContext, in tree: any RuleTree
    ) throws(RuleTreeError) -> Explanation {
        steps = []
        defer { steps = nil }
        let verdict = try decide(operation, context, in: tree)
        return Explanation(verdict: verdict, rules: steps ?? [])
    }

    /// Lets go of everything that belongs to the operation.
    private func rest() {
        evaluator.forget()
        descent.removeAll(keepingCapacity: true)
        (nextChild, children) = (nil, nil)
        broken = nil
        walk.removeAll(keepingCapacity: true)
        grants.removeAll(keepingCapacity: true)
        validated = 0
    }

    // MARK: The way

    /// Walks from the root to a place; the known state of levels shared with the last one stays.
    private func enter(_ path: Path) {
        let shared = evaluator.move(to: path)
        validated = min(validated, shared + 1)
        if walk.count > shared + 1 {
            walk.removeSubrange((shared + 1)...)
            grants.removeSubrange((shared + 1)...)
        }
        if walk.isEmpty { append(0) }
        while walk.count <= evaluator.ends.count {
            let depth = walk.count - 1
            let segment = evaluator.end(of: depth)..<evaluator.end(of: depth + 1)
            let place = walk[depth]
            let next = evaluator.place.withUnsafeBytes { program.child(of: place, $0.part(segment)) }
            guard let next else { return }
            append(next)
        }
    }

    private func append(_ place: Int) {
        walk.append(place)
        grants.append(nil)
    }

    /// Whether a rule on the way grants the operation, root first (docs/rules.md 2).
    private func isGranted(_ kind: RuleKind) throws(RuleTreeError) -> Bool {
        for depth in walk.indices {
            guard let rule = program.rule(kind, at: walk[depth]) else { continue }
            let grants: Bool
            if let known = self.grants[depth] { grants = known } else { grants = try holds(rule, depth) }
            self.grants[depth] = grants
            if grants { return true }
        }
        return false
    }

    /// Whether the rule holds at the first levels of the place.
    private func holds(_ rule: Int, _ depth: Int) throws(RuleTreeError) -> Bool {
        if steps != nil || coverage != nil { return try holdsExplained(rule, depth) }
        do throws(Fault) {
            return try evaluator.run(program.root(of: rule), depth: depth)
        } catch {
            if let error = evaluator.treeError { throw error }
            return false
        }
    }

    private func holdsExplained(_ rule: Int, _ depth: Int) throws(RuleTreeError) -> Bool {
        let recorder = Recorder()
        evaluator.recorder = recorder
        defer { evaluator.recorder = nil }
        let outcome: Result<Bool, Fault> = Result { () throws(Fault) in
            try evaluator.run(program.root(of: rule), depth: depth)
        }
        if let error = evaluator.treeError { throw error }
        if steps == nil { coverage?.add(recorder) }
        let holds = (try? outcome.get()) ?? false
        // Of a large value that is fine but for one place, that place matters.
        if !holds || (steps?.count ?? 0) < Self.explainedMax {
            let place = Path(encoded: Array(evaluator.place[..<evaluator.end(of: depth)]))
            steps?.append(ExplainedRule(program, rule, at: place, outcome, recorder))
        }
        return holds
    }

    // MARK: Writing

    /// A value that is being looked through, and the name of its place in the rules.
    private struct Level {
        var children: CanonicalJSON.Children
        let place: Int
        let depth: Int
    }

    /// Begins to decide a write, which ``goOn(while:)`` does in steps. Until it has answered, nothing else can be
    /// decided. If the tree changes meanwhile where it was asked, the verdict is one about neither state.
    package func begin(_ write: RuleOperation, _ context: RuleContext, in tree: any RuleTree) {
        assignmentsSeen = 0
        switch write {
        case .read: preconditionFailure("a read is decided at once")
        case .write(let assignments):
            let byteCount = assignments.reduce(0) { $0 + $1.value.bytes.count }
            evaluator.begin(context, in: tree, writing: byteCount)
            evaluator.after.write(assignments, over: tree)
        case .writeChildren(of: let base, let text):
            evaluator.begin(context, in: tree, writing: text.bytes.count)
            evaluator.after.write(childrenOf: base, text, over: tree)
            children = text.children
            nextChild = children?.next()
        }
        evaluator.query = nil
    }

    /// Goes on until the write is decided, or until `mayGoOn` answers false: it is called after every few rules, and
    /// after each that took many steps.
    ///
    /// - returns: the verdict, with the rules that have denied the write; nil if there is more to look at.
    package func goOn(while mayGoOn: () -> Bool) throws(RuleTreeError) -> Explanation? {
        do throws(RuleTreeError) {
            var looks = 0
            var stepsLeft = evaluator.stepsLeft
            while !isDecided {
                if let denial = try look() {
                    let explanation = try explanation(of: denial)
                    rest()
                    return explanation
                }
                looks += 1
                guard looks == Self.looksAtOnce || stepsLeft - evaluator.stepsLeft > Self.stepsAtOnce else { continue }
                (looks, stepsLeft) = (0, evaluator.stepsLeft)
                if !mayGoOn() { return nil }
            }
            rest()
            return Explanation(verdict: .allowed, rules: [])
        } catch {
            rest()
            throw error
        }
    }

    private static let looksAtOnce = 16
    /// Steps of patterns and bytes of strings, which take a millisecond or a few.
    private static let stepsAtOnce = 100_000

    /// All that is written was looked at.
    private var isDecided: Bool {
        descent.isEmpty && nextChild == nil
            && assignmentsSeen == evaluator.after.values.count + evaluator.after.priorities.count
    }

    /// Checks the next child of the present scan, or the next assignment. They are in path order, so that neighbours
    /// share most of their way.
    private func look() throws(RuleTreeError) -> Denial? {
        if !descent.isEmpty { return try lookAtNextChild() }
        if let child = nextChild, let written = evaluator.after.children {
            nextChild = children?.next()
            var segment: [UInt8] = []
            child.appendSegment(to: &segment)
            let path = written.base + segment
            evaluator.after.children?.current = (segment, child.value)
            let isNull = written.text.isNull(child.value)
            return try denial(of: Path(encoded: path), carrying: isNull ? nil : child.children)
        }
        let (values, priorities) = (evaluator.after.values, evaluator.after.priorities)
        let index = assignmentsSeen
        assignmentsSeen += 1
        if index >= values.count {
            return try denial(of: priorities[index - values.count].target.path, carrying: nil)
        }
        let (path, value) = (values[index].target.path, values[index].value)
        return try denial(of: path, carrying: value.isNull ? nil : value.children)
    }

    /// Evaluates the rules that deny a write once more, and returns their results.
    private func explanation(of denial: Denial) throws(RuleTreeError) -> Explanation {
        steps = []
        defer { steps = nil }
        if let broken {
            _ = try holds(broken.rule, broken.depth)
        } else {
            for depth in grants.indices { grants[depth] = nil }
            _ = try isGranted(.write)
        }
        return Explanation(verdict: .denied(denial), rules: steps ?? [])
    }

    /// - parameter children: of the value that the place gets; nil if it gets none.
    private func denial(
        of path: Path, carrying children: CanonicalJSON.Children?
    ) throws(RuleTreeError) -> Denial? {
        enter(path)
        guard try isGranted(.write) else { return Denial(kind: .write, place: path) }
        // At the place and above it, unless the whole node is gone.
        let isSurelyThere = children != nil
        for depth in min(validated, walk.count)..<walk.count {
            guard let rule = program.rule(.validate, at: walk[depth]) else { continue }
            let isThere = try isSurelyThere ? true : exists(depth: depth)
            if isThere, try !holds(rule, depth) { return denial(by: rule, depth) }
        }
        validated = walk.count
        guard let children, walk.count == evaluator.ends.count + 1, let place = walk.last else { return nil }
        if program.validatesBelow(place) { descend(into: children, at: place) }
        return nil
    }

    private func exists(depth: Int) throws(RuleTreeError) -> Bool {
        do throws(Fault) {
            return try evaluator.existsAfter(depth: depth)
        } catch {
            if let error = evaluator.treeError { throw error }
            return false
        }
    }

    private func denial(by rule: Int, _ depth: Int) -> Denial {
        broken = (rule, depth)
        let rule = program.rules[rule]
        let place = Path(encoded: Array(evaluator.place[..<evaluator.end(of: depth)]))
        return Denial(kind: .validate, place: place, position: program.position(in: rule, at: 0))
    }

    /// Has the `.validate` asked of everything that a value carries below the evaluator's place.
    private func descend(into children: CanonicalJSON.Children, at place: Int) {
        descent.append(Level(children: children, place: place, depth: evaluator.ends.count))
    }

    private func lookAtNextChild() throws(RuleTreeError) -> Denial? {
        let last = descent.count - 1
        let (place, depth) = (descent[last].place, descent[last].depth)
        evaluator.truncate(to: depth)
        guard let child = descent[last].children.next() else {
            descent.removeLast()
            return nil
        }
        evaluator.append(child)
        let segment = evaluator.end(of: depth)..<evaluator.end(of: depth + 1)
        let next = evaluator.place.withUnsafeBytes { program.child(of: place, $0.part(segment)) }
        guard let next else { return nil }
        if let rule = program.rule(.validate, at: next), try !holds(rule, depth + 1) {
            return denial(by: rule, depth + 1)
        }
        if program.validatesBelow(next) { descend(into: child.children, at: next) }
        return nil
    }
}
