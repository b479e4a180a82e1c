import HearthJSONTree
import HearthTestSupport

@testable import HearthSecurityRules

/// Makes expressions that pass the checker, of every type.
struct RandomExpressions {
    var random: SeededRandom
    /// The wildcards that are known.
    var keys: [String]
    var hasNewData: Bool

    static let words = ["a", "b", "c", "7", "é", "ab", "", "a/b", "/c", "x.y", "A"]

    mutating func chance(_ count: Int, in total: Int) -> Bool { Int.random(in: 0..<total, using: &random) < count }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }

    mutating func bool(_ depth: Int) -> ReferenceExpression {
        if depth == 0 { return pick([.bool(true), .bool(false), .ask(snapshot(0), "exists")]) }
        let less = depth - 1
        switch Int.random(in: 0..<16, using: &random) {
        case 0...3: return .binary(pick(["&&", "||"]), bool(less), bool(less))
        case 4: return .not(bool(less))
        case 5: return .choice(bool(less), bool(less), bool(less))
        case 6...8: return .binary(pick(["==", "!=", "===", "!=="]), anything(less), anything(less))
        case 9, 10: return .binary(pick(["<", "<=", ">", ">="]), ordered(less), ordered(less))
        case 11, 12: return .ask(snapshot(less), pick(["exists", "hasChildren", "isString", "isNumber", "isBoolean"]))
        case 13: return .hasChild(snapshot(less), textual(less))
        case 14:
            let names = (0..<Int.random(in: 0...2, using: &random)).map { _ in textual(less) }
            return .hasChildren(snapshot(less), names)
        default: return .test(textual(less), pick(["contains", "beginsWith", "endsWith"]), textual(less))
        }
    }

    mutating func anything(_ depth: Int) -> ReferenceExpression {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: .null
        case 1: bool(depth)
        default: ordered(depth)
        }
    }

    mutating func ordered(_ depth: Int) -> ReferenceExpression {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: number(depth)
        case 1: string(depth)
        default: value(depth)
        }
    }

    mutating func number(_ depth: Int) -> ReferenceExpression {
        if depth == 0 { return pick([.number(0), .number(1), .number(7), .number(2.5), .now]) }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return .minus(numeric(depth - 1))
        case 1...3: return .binary(pick(["-", "*", "/", "%"]), numeric(depth - 1), numeric(depth - 1))
        case 4: return .length(chance(1, in: 2) ? string(depth - 1) : stored(depth - 1))
        default: return .binary("+", number(depth - 1), number(depth - 1))
        }
    }

    private mutating func numeric(_ depth: Int) -> ReferenceExpression {
        chance(2, in: 3) ? number(depth) : value(depth)
    }

    mutating func string(_ depth: Int) -> ReferenceExpression {
        if depth == 0 { return keys.isEmpty || chance(1, in: 2) ? .string(pick(Self.words)) : .key(pick(keys)) }
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return .binary("+", string(depth - 1), ordered(depth - 1))
        case 1: return .binary("+", ordered(depth - 1), string(depth - 1))
        case 2: return .replace(textual(depth - 1), textual(depth - 1), textual(depth - 1))
        case 3: return .mapCase(textual(depth - 1), isUpper: chance(1, in: 2))
        default: return .choice(bool(depth - 1), string(depth - 1), string(depth - 1))
        }
    }

    /// A string, or something that may be one.
    mutating func textual(_ depth: Int) -> ReferenceExpression {
        chance(2, in: 3) ? string(depth) : value(depth)
    }

    /// Known only when the rule runs.
    mutating func value(_ depth: Int) -> ReferenceExpression {
        if chance(1, in: 3) { return claim(depth) }
        if depth > 0, chance(1, in: 6) { return .choice(bool(depth - 1), value(depth - 1), string(depth - 1)) }
        return stored(depth)
    }

    private mutating func stored(_ depth: Int) -> ReferenceExpression {
        .ask(snapshot(depth), chance(1, in: 5) ? "getPriority" : "val")
    }

    private mutating func claim(_ depth: Int) -> ReferenceExpression {
        if chance(1, in: 3) { return .member(.auth, "uid") }
        if depth > 0, chance(1, in: 3) { return .index(.member(.auth, "token"), ordered(depth - 1)) }
        return pick([
            .auth, .member(.member(.auth, "token"), pick(["a", "b", "none", "length"])), .member(.auth, "none"),
        ])
    }

    mutating func snapshot(_ depth: Int) -> ReferenceExpression {
        let origin = ReferenceExpression.place(
            pick(hasNewData ? ["root", "data", "newData", "newData"] : ["root", "data"]))
        if depth == 0 { return origin }
        switch Int.random(in: 0..<6, using: &random) {
        case 0...2: return .child(snapshot(depth - 1), textual(depth - 1))
        case 3: return .parent(snapshot(depth - 1))
        case 4: return .choice(bool(depth - 1), snapshot(depth - 1), snapshot(depth - 1))
        default: return origin
        }
    }
}
