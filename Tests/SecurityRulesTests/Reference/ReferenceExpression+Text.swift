@testable import HearthSecurityRules

extension ReferenceExpression {
    /// How tightly the outermost operator binds: a choice least.
    private var level: Int {
        switch self {
        case .choice: 0
        case .binary(let sign, _, _): Self.level(sign)
        case .not, .minus: 7
        case .number(let value): value < 0 ? 7 : 8
        default: 8
        }
    }

    private static func level(_ sign: String) -> Int {
        switch sign {
        case "||": 1
        case "&&": 2
        case "==", "!=", "===", "!==": 3
        case "<", "<=", ">", ">=": 4
        case "+", "-": 5
        default: 6
        }
    }

    /// As a rules file has it, with parentheses only where they are needed.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let value): value == value.rounded() ? "\(Int(value))" : "\(value)"
        case .string(let value): "'\(value)'"
        case .auth: "auth"
        case .now: "now"
        case .key(let name), .place(let name): name
        case .child(let parent, let name): "\(parent.text(8)).child(\(name.text))"
        case .parent(let child): "\(child.text(8)).parent()"
        case .ask(let place, let method): "\(place.text(8)).\(method)()"
        case .hasChild(let place, let name): "\(place.text(8)).hasChild(\(name.text))"
        case .hasChildren(let place, let names):
            "\(place.text(8)).hasChildren([\(names.map(\.text).joined(separator: ", "))])"
        case .member(let target, let name): "\(target.text(8)).\(name)"
        case .index(let target, let name): "\(target.text(8))[\(name.text)]"
        case .length(let target): "\(target.text(8))['length']"
        case .test(let target, let method, let argument): "\(target.text(8)).\(method)(\(argument.text))"
        case .replace(let target, let old, let new): "\(target.text(8)).replace(\(old.text), \(new.text))"
        case .mapCase(let target, let isUpper): "\(target.text(8)).\(isUpper ? "toUpperCase" : "toLowerCase")()"
        case .not(let operand): "!\(operand.text(7))"
        case .minus(let operand): "- \(operand.text(7))"
        case .binary(let sign, let a, let b): "\(a.text(level)) \(sign) \(b.text(level + 1))"
        case .choice(let test, let first, let second): "\(test.text(1)) ? \(first.text) : \(second.text)"
        }
    }

    private func text(_ level: Int) -> String { self.level < level ? "(\(text))" : text }
}
