import HearthJSONTree
import HearthTestSupport

@testable import HearthSecurityRules

/// A rules file as a tree, and the plainest way to decide by it (docs/rules.md 2).
final class ReferenceRules {
    var rules: [RuleKind: ReferenceExpression] = [:]
    var children: [String: ReferenceRules] = [:]
    var wildcard: (name: String, rules: ReferenceRules)?

    static let keys = ["a", "b", "c", "7", "é"]

    init(depth: Int, wildcards: [String], _ random: inout SeededRandom) {
        for kind in [.read, .write, .validate] as [RuleKind] where Int.random(in: 0..<3, using: &random) > 0 {
            var expressions = RandomExpressions(random: random, keys: wildcards, hasNewData: kind != .read)
            rules[kind] = expressions.bool(Int.random(in: 0...4, using: &expressions.random))
            random = expressions.random
            // Validation that mostly holds lets others matter.
            if kind == .validate, let rule = rules[kind], Int.random(in: 0..<2, using: &random) == 0 {
                rules[kind] = .choice(.ask(.place("newData"), "hasChildren"), .bool(true), rule)
            }
        }
        guard depth > 0 else { return }
        for key in Self.keys where Int.random(in: 0..<3, using: &random) == 0 {
            children[key] = ReferenceRules(depth: depth - 1, wildcards: wildcards, &random)
        }
        if Int.random(in: 0..<3, using: &random) > 0 {
            let name = "$w\(wildcards.count)"
            wildcard = (name, ReferenceRules(depth: depth - 1, wildcards: wildcards + [name], &random))
        }
    }

    var text: String {
        var members = rules.sorted { $0.key.rawValue < $1.key.rawValue }.map { kind, expression in
            "\"\(kind.rawValue)\":\"\(expression.text)\""
        }
        members += children.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value.text)" }
        if let wildcard { members.append("\"\(wildcard.name)\":\(wildcard.rules.text)") }
        return "{\(members.joined(separator: ","))}"
    }

    /// The rules on the way to a place: each with its location and the values of its wildcards.
    private func walk(_ keys: [Key]) -> [(rules: ReferenceRules, location: [Key], keys: [String: Key])] {
        var way = [(rules: self, location: [Key](), keys: [String: Key]())]
        for key in keys {
            let last = way[way.count - 1]
            if let next = last.rules.children[key.description] {
                way.append((next, last.location + [key], last.keys))
            } else if let (name, next) = last.rules.wildcard {
                way.append((next, last.location + [key], last.keys.merging([name: key]) { _, new in new }))
            } else {
                break
            }
        }
        return way
    }

    private func holds(
        _ kind: RuleKind, _ stop: (rules: ReferenceRules, location: [Key], keys: [String: Key]), _ scene: ReferenceScene
    ) -> Bool? {
        guard let rule = stop.rules.rules[kind] else { return nil }
        var scene = scene
        scene.location = stop.location
        scene.keys = stop.keys
        return (try? rule.bool(scene)) ?? false
    }

    func allowsRead(_ path: Path, _ scene: ReferenceScene) -> Bool {
        walk(Array(path.keys)).contains { holds(.read, $0, scene) == true }
    }

    func allowsWrite(_ assignments: [Assignment], _ scene: ReferenceScene) -> Bool {
        assignments.allSatisfy { assignment in
            let keys = Array(assignment.target.path.keys)
            let way = walk(keys)
            guard way.contains(where: { holds(.write, $0, scene) == true }) else { return false }
            for stop in way where !scene.after.value(at: Path(stop.location)).isNull {
                if holds(.validate, stop, scene) == false { return false }
            }
            return assignment.target.isPriority || isValid(Node(assignment.value), keys, scene)
        }
    }

    /// Whether everything below a written value is valid.
    private func isValid(_ node: Node, _ keys: [Key], _ scene: ReferenceScene) -> Bool {
        node.children.allSatisfy { child in
            let place = keys + [child.key]
            let way = walk(place)
            if way.count == place.count + 1, holds(.validate, way[place.count], scene) == false { return false }
            return isValid(child.node, place, scene)
        }
    }
}
