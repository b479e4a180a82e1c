import HearthJSONTree
import HearthTestSupport
import HearthTreeText
import Testing

@testable import HearthSecurityRules

/// Random small trees over few keys.
private struct Trees {
    var random: SeededRandom

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }

    mutating func node(_ depth: Int) -> Node {
        let priority: Leaf? = pick([nil, nil, nil, .integer(1), .string(Array("a".utf8))])
        if depth == 0 || Int.random(in: 0..<4, using: &random) == 0 {
            let leaves: [Leaf] = [
                .bool(true), .bool(false), .integer(0), .integer(7), .double(2.5), .string([]),
                .string(Array("a".utf8)),
                .string(Array("7".utf8)), .string(Array("a\"é".utf8)), .string(Array("b".utf8)),
            ]
            return Node(pick(leaves), priority: priority)
        }
        var children: [(key: Key, node: Node)] = []
        for name in ReferenceRules.keys where Bool.random(using: &random) {
            if let key = try? Key(validating: name) { children.append((key, node(depth - 1))) }
        }
        return Node(children: children, priority: priority)
    }

    mutating func path(_ range: ClosedRange<Int>) -> Path {
        Path(
            (0..<Int.random(in: range, using: &random)).compactMap { _ in
                try? Key(validating: pick(ReferenceRules.keys))
            })
    }

    /// New values of children of one place, at least one of which gets any.
    mutating func children() -> [Assignment] {
        let base = path(0...2)
        let keys = ReferenceRules.keys.compactMap { try? Key(validating: $0) }.shuffled(using: &random)
        return keys.prefix(pick([1, 2, 3])).enumerated().map { index, key in
            let value = index > 0 && pick([true, false]) ? Node.null : node(2 - base.depth)
            let isKept = index > 0 || !value.isNull
            return Assignment(
                target: WriteTarget(path: base.appending(key)), value: isKept ? value.canonical : .init(bool: true))
        }
    }

    /// The assignments of one write: no place at or below another.
    mutating func assignments(_ before: Node) -> [Assignment] {
        var assignments: [Assignment] = []
        for _ in 0..<pick([1, 1, 1, 2, 3, 6, 40]) {
            let path = path(0...3)
            if assignments.contains(where: { $0.target.path.contains(path) || path.contains($0.target.path) }) {
                continue
            }
            if pick([true, false, false, false, false]), !before.value(at: path).isNull {
                let priority: [CanonicalJSON] = [.null, CanonicalJSON(integer: 7), CanonicalJSON(string: [0x61])]
                assignments.append(Assignment(target: WriteTarget(path: path, isPriority: true), value: pick(priority)))
            } else {
                let value = pick([true, false, false]) ? Node.null : node(3 - path.depth)
                assignments.append(Assignment(target: WriteTarget(path: path), value: value.canonical))
            }
        }
        return assignments
    }
}

/// The tree after assignments, one after the other; priorities last.
private func applying(_ assignments: [Assignment], to node: Node) -> Node {
    var node = node
    for assignment in assignments where !assignment.target.isPriority {
        node = node.setting(Node(assignment.value), at: assignment.target.path)
    }
    for assignment in assignments where assignment.target.isPriority {
        let priority = Node(assignment.value).leaf
        node = node.settingPriority(priority, at: assignment.target.path) ?? node
    }
    return node
}

@Suite("Against a plain model")
struct ReferenceTests {
    @Test("a written tree is the tree after the assignments", arguments: 1...10 as ClosedRange<UInt64>)
    func writtenTree(seed: UInt64) throws {
        var trees = Trees(random: SeededRandom(seed: seed))
        let tree = WrittenTree()
        for step in 0..<40 {
            let before = trees.node(3)
            let isOfChildren = trees.pick([true, false, false])
            let assignments = isOfChildren ? trees.children() : trees.assignments(before)
            let after = applying(assignments, to: before)
            let remains = applying(assignments.filter { $0.value.isNull }, to: before)
            let base = SpreadTree(before, spreadDepth: step % 4)
            if isOfChildren, let parent = assignments[0].target.path.parent {
                tree.write(childrenOf: parent, CanonicalJSON(children: assignments, of: parent), over: base)
            } else {
                tree.write(assignments, over: base)
            }
            for _ in 0..<30 {
                let path = trees.path(0...4)
                let expected = after.value(at: path)
                let found = try tree.value(at: path.encoded.span.bytes)
                let note: Comment = "seed \(seed) step \(step) at \(path) of \(before.canonical) with \(assignments)"
                #expect(found.exists == !expected.isNull, note)
                #expect(found.hasChildren == !expected.children.isEmpty, note)
                let priority = found.priority.map { $0.0.part($0.1) }
                // Whether a place keeps its priority while all its children are replaced depends on which comes first.
                let isReplaced = !before.value(at: path).isNull && remains.value(at: path).isNull
                #expect(isReplaced || priority == expected.priority.map { Node($0).canonical }, note)
                if case .text(let json, let range) = found, !isReplaced,
                    assignments.allSatisfy({ !$0.target.isPriority })
                {
                    #expect(json.part(range) == expected.canonical, note)
                }
                var keys: Set<[UInt8]> = []
                if case .spread = found {
                    try tree.forEachChild(of: path.encoded.span.bytes) { segment in
                        #expect(keys.insert(segment.withUnsafeBytes { [UInt8]($0) }).inserted, note)
                        return true
                    }
                    #expect(keys == Set(expected.children.map { Path([$0.key]).encoded }), note)
                }
            }
        }
    }

    private static func claims(_ trees: inout Trees) -> (json: String, value: ReferenceValue)? {
        switch trees.pick([0, 1, 1, 1]) {
        case 0: return nil
        default:
            let uid = trees.pick(ReferenceRules.keys)
            let flag = trees.pick([true, false])
            return (
                "{\"uid\":\"\(uid)\",\"token\":{\"a\":\(flag),\"b\":\"b\",\"7\":7}}",
                .object([
                    "uid": .string(uid), "token": .object(["a": .bool(flag), "b": .string("b"), "7": .number(7)]),
                ])
            )
        }
    }

    @Test("decisions are those of the second evaluator", arguments: 1...8 as ClosedRange<UInt64>)
    func decisions(seed: UInt64) throws {
        var trees = Trees(random: SeededRandom(seed: seed))
        for step in 0..<8 {
            let rules = ReferenceRules(depth: 3, wildcards: [], &trees.random)
            let judge = RulesJudge(try program(rules.text))
            for _ in 0..<10 {
                let before = trees.node(3)
                let claims = Self.claims(&trees)
                let auth = try claims.map { try RuleAuth(json: Array($0.json.utf8)) }
                let context = RuleContext(auth: auth, now: 7)
                let tree = SpreadTree(before, spreadDepth: trees.pick([0, 1, 2, 4]))
                var scene = ReferenceScene(
                    before: before, after: before, location: [], keys: [:], auth: claims?.value ?? .null, now: 7)
                let place = trees.path(0...4)
                let read = try judge.decide(.read(place, nil), context, in: tree).isAllowed
                let note = "seed \(seed) step \(step) data \(before.canonical) rules \(rules.text)"
                #expect(read == rules.allowsRead(place, scene), "read \(place) \(note)")
                let assignments = trees.assignments(before)
                scene.after = applying(assignments, to: before)
                let write = try judge.decide(.write(assignments), context, in: tree)
                #expect(write.isAllowed == rules.allowsWrite(assignments, scene), "write \(assignments) \(note)")
                let explained = try judge.explain(.write(assignments), context, in: tree)
                #expect(explained.verdict == write, "\(note)")
                let children = trees.children()
                if let parent = children[0].target.path.parent {
                    let text = CanonicalJSON(children: children, of: parent)
                    let one = try judge.decide(.write(children), context, in: tree)
                    let other = try judge.decide(.writeChildren(of: parent, text), context, in: tree)
                    #expect(one == other, "\(text) at \(parent) \(note)")
                }
            }
        }
    }

    @Test("the second evaluator allows and denies, and rules fail by errors too")
    func isNotTrivial() throws {
        var trees = Trees(random: SeededRandom(seed: 4711))
        var counts = [true: 0, false: 0]
        var errors = 0
        for _ in 0..<200 {
            let rules = ReferenceRules(depth: 2, wildcards: [], &trees.random)
            let before = trees.node(3)
            let judge = RulesJudge(try program(rules.text))
            let explanation = try judge.explain(
                .write(trees.assignments(before)), RuleContext(auth: nil, now: 7),
                in: SpreadTree(before, spreadDepth: 1))
            counts[explanation.verdict.isAllowed, default: 0] += 1
            for rule in explanation.rules { if case .error = rule.outcome { errors += 1 } }
        }
        #expect(counts[true, default: 0] > 20)
        #expect(counts[false, default: 0] > 20)
        #expect(errors > 10)
    }
}
