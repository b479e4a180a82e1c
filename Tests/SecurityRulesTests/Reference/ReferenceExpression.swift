import HearthJSONTree

@testable import HearthSecurityRules

/// An expression, made as a tree: the second evaluator knows neither parser nor checker.
indirect enum ReferenceExpression {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case auth
    case now
    case key(String)
    case place(String)
    case child(ReferenceExpression, ReferenceExpression)
    case parent(ReferenceExpression)
    /// A method of a snapshot without arguments.
    case ask(ReferenceExpression, String)
    case hasChild(ReferenceExpression, ReferenceExpression)
    case hasChildren(ReferenceExpression, [ReferenceExpression])
    case member(ReferenceExpression, String)
    case index(ReferenceExpression, ReferenceExpression)
    case length(ReferenceExpression)
    /// `contains`, `beginsWith` or `endsWith`.
    case test(ReferenceExpression, String, ReferenceExpression)
    case replace(ReferenceExpression, ReferenceExpression, ReferenceExpression)
    case mapCase(ReferenceExpression, isUpper: Bool)
    case not(ReferenceExpression)
    case minus(ReferenceExpression)
    case binary(String, ReferenceExpression, ReferenceExpression)
    case choice(ReferenceExpression, ReferenceExpression, ReferenceExpression)
}

enum ReferenceValue {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case object([String: ReferenceValue])
    case snapshot(isNew: Bool, [Key]?)
    case thing
}

/// The rule fails.
struct ReferenceError: Error {}

/// What expressions see.
struct ReferenceScene {
    var before: Node
    var after: Node
    var location: [Key]
    var keys: [String: Key]
    var auth: ReferenceValue
    var now: Double
}

extension ReferenceExpression {
    func value(_ scene: ReferenceScene) throws(ReferenceError) -> ReferenceValue {
        switch self {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .number(let value): return .number(value)
        case .string(let value): return .string(value)
        case .auth: return scene.auth
        case .now: return .number(scene.now)
        case .key(let name): return .string(scene.keys[name]?.description ?? "?")
        case .place("root"): return .snapshot(isNew: false, [])
        case .place(let name): return .snapshot(isNew: name == "newData", scene.location)
        case .child(let parent, let name):
            let (isNew, keys) = try parent.snapshot(scene)
            let names = Self.keys(try name.text(scene))
            return .snapshot(isNew: isNew, keys.flatMap { keys in names.map { keys + $0 } })
        case .parent(let child):
            let (isNew, keys) = try child.snapshot(scene)
            guard let keys, !keys.isEmpty else { throw ReferenceError() }
            return .snapshot(isNew: isNew, keys.dropLast())
        case .ask(let place, let method): return Self.ask(try place.node(scene), method)
        case .hasChild(let place, let name): return .bool(!(try Self.child(place, name).node(scene)).isNull)
        case .hasChildren(let place, let names):
            _ = try place.snapshot(scene)
            for name in names where try Self.child(place, name).node(scene).isNull { return .bool(false) }
            return .bool(true)
        case .member(let target, let name): return Self.member(try target.value(scene), name)
        case .index(let target, let name):
            let owner = try target.value(scene)
            let place = try name.value(scene)
            guard case .object(let members) = owner else { return .null }
            switch place {
            case .string(let name): return members[name] ?? .null
            case .number(let number): return members[Self.text(number)] ?? .null
            default: return .null
            }
        case .length(let text): return .number(Double(try text.text(scene).utf16.count))
        case .test(let target, let method, let argument):
            let (text, part) = (Array(try target.text(scene).utf16), Array(try argument.text(scene).utf16))
            switch method {
            case "beginsWith": return .bool(text.starts(with: part))
            case "endsWith": return .bool(text.reversed().starts(with: part.reversed()))
            default: return .bool((0...text.count).contains { text[$0...].starts(with: part) })
            }
        case .replace(let target, let old, let new):
            let (text, part, other) = (try target.text(scene), try old.text(scene), try new.text(scene))
            return .string(part.isEmpty ? text : Self.split(text, part).joined(separator: other))
        case .mapCase(let target, let isUpper):
            let text = try target.text(scene)
            return .string(isUpper ? text.uppercased() : text.lowercased())
        case .not(let operand): return .bool(!(try operand.bool(scene)))
        case .minus(let operand): return .number(-(try operand.number(scene)))
        case .choice(let test, let first, let second):
            return try test.bool(scene) ? try first.value(scene) : try second.value(scene)
        case .binary("&&", let a, let b): return .bool(try a.bool(scene) ? try b.bool(scene) : false)
        case .binary("||", let a, let b): return .bool(try a.bool(scene) ? true : try b.bool(scene))
        case .binary(let sign, let a, let b):
            let left = try a.value(scene)
            return try Self.binary(sign, left, try b.value(scene))
        }
    }

    private static func split(_ text: String, _ separator: String) -> [String] {
        var parts: [[Character]] = [[]]
        let (text, separator) = (Array(text), Array(separator))
        var index = 0
        while index < text.count {
            if text[index...].starts(with: separator) {
                parts.append([])
                index += separator.count
            } else {
                parts[parts.count - 1].append(text[index])
                index += 1
            }
        }
        return parts.map { String($0) }
    }

    private static func binary(
        _ sign: String, _ a: ReferenceValue, _ b: ReferenceValue
    ) throws(ReferenceError) -> ReferenceValue {
        switch (sign, a, b) {
        case ("==", _, _), ("===", _, _): return .bool(isEqual(a, b))
        case ("!=", _, _), ("!==", _, _): return .bool(!isEqual(a, b))
        case ("+", .number(let a), .number(let b)): return .number(a + b)
        case ("+", .string(let a), .string(let b)): return .string(a + b)
        case ("+", .string(let a), .number(let b)): return .string(a + text(b))
        case ("+", .number(let a), .string(let b)): return .string(text(a) + b)
        case ("-", .number(let a), .number(let b)): return .number(a - b)
        case ("*", .number(let a), .number(let b)): return .number(a * b)
        case ("/", .number(let a), .number(let b)): return .number(b == 0 ? .nan : a / b)
        case ("%", .number(let a), .number(let b)): return .number(a.truncatingRemainder(dividingBy: b))
        case ("<", .number(let a), .number(let b)): return .bool(a < b)
        case ("<=", .number(let a), .number(let b)): return .bool(a <= b)
        case (">", .number(let a), .number(let b)): return .bool(a > b)
        case (">=", .number(let a), .number(let b)): return .bool(a >= b)
        case ("<", .string(let a), .string(let b)): return .bool(precedes(a, b))
        case ("<=", .string(let a), .string(let b)): return .bool(!precedes(b, a))
        case (">", .string(let a), .string(let b)): return .bool(precedes(b, a))
        case (">=", .string(let a), .string(let b)): return .bool(!precedes(a, b))
        default: throw ReferenceError()
        }
    }

    private static func precedes(_ a: String, _ b: String) -> Bool { a.utf16.lexicographicallyPrecedes(b.utf16) }

    private static func text(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-Infinity" : "Infinity" }
        return number == number.rounded(.towardZero) && abs(number) < 1e15 ? "\(Int(number))" : "\(number)"
    }

    private static func isEqual(_ a: ReferenceValue, _ b: ReferenceValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): Array(a.utf16) == Array(b.utf16)
        default: false
        }
    }

    private static func member(_ owner: ReferenceValue, _ name: String) -> ReferenceValue {
        switch owner {
        case .object(let members): members[name] ?? .null
        case .string(let text) where name == "length": .number(Double(text.utf16.count))
        default: .null
        }
    }

    private static func ask(_ node: Node, _ method: String) -> ReferenceValue {
        switch method {
        case "exists": return .bool(!node.isNull)
        case "hasChildren": return .bool(!node.children.isEmpty)
        case "getPriority": return node.priority.map(leaf) ?? .null
        default: break
        }
        let value: ReferenceValue = node.isNull ? .null : node.leaf.map(leaf) ?? .thing
        switch (method, value) {
        case ("val", _): return value
        case ("isString", .string), ("isNumber", .number), ("isBoolean", .bool): return .bool(true)
        default: return .bool(false)
        }
    }

    private static func leaf(_ leaf: Leaf) -> ReferenceValue {
        switch leaf {
        case .bool(let value): .bool(value)
        case .integer(let value): .number(Double(value))
        case .double(let value): .number(value)
        case .string(let utf8): .string(String(decoding: utf8, as: UTF8.self))
        }
    }

    /// The keys that a path names; nil if it names nothing.
    private static func keys(_ text: String) -> [Key]? {
        var parts = text.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
        if parts.count > 1, parts[0].isEmpty { parts.removeFirst() }
        var keys: [Key] = []
        for part in parts {
            guard let key = try? Key(validating: part) else { return nil }
            keys.append(key)
        }
        return keys
    }

    private func snapshot(_ scene: ReferenceScene) throws(ReferenceError) -> (isNew: Bool, keys: [Key]?) {
        guard case .snapshot(let isNew, let keys) = try value(scene) else { throw ReferenceError() }
        return (isNew, keys)
    }

    private func node(_ scene: ReferenceScene) throws(ReferenceError) -> Node {
        let (isNew, keys) = try snapshot(scene)
        return keys.map { (isNew ? scene.after : scene.before).value(at: Path($0)) } ?? .null
    }

    func bool(_ scene: ReferenceScene) throws(ReferenceError) -> Bool {
        guard case .bool(let value) = try value(scene) else { throw ReferenceError() }
        return value
    }

    private func number(_ scene: ReferenceScene) throws(ReferenceError) -> Double {
        guard case .number(let value) = try value(scene) else { throw ReferenceError() }
        return value
    }

    private func text(_ scene: ReferenceScene) throws(ReferenceError) -> String {
        guard case .string(let value) = try value(scene) else { throw ReferenceError() }
        return value
    }
}
