import HearthJSONTree

/// Checks the types of an expression (docs/rules.md 3.3) and compiles it: every sub-expression becomes an
/// ``Instruction``.
struct Checker {
    /// The meaning of a name at the rule's place.
    struct Scope {
        var kind: RuleKind
        /// The names of the wildcards on the way, with the depth of their keys, counted from 1.
        var wildcards: [(name: [UInt8], depth: Int)]
    }

    /// A checked expression: its instruction and its type.
    struct Checked {
        var instruction: Int
        var type: StaticType
    }

    let scope: Scope
    var code: Code
    /// The rule asks for conditions of queries.
    var usesConditions = false

    /// Compiles a whole rule. Answers its last instruction, which decides.
    mutating func rule(_ syntax: Syntax) throws(Mistake) -> Int {
        let first = code.instructions.count
        let checked = try check(syntax)
        guard checked.type == .boolean else {
            throw Mistake("Expression must evaluate to a boolean.", at: syntax.start)
        }
        if usesConditions { code.showLimitsOfConditions(from: first) }
        return checked.instruction
    }

    mutating func check(_ syntax: Syntax) throws(Mistake) -> Checked {
        switch syntax.form {
        case .null: return emit(.null, .null, syntax)
        case .bool(let value): return emit(.bool(value), .boolean, syntax)
        case .number(let value): return emit(.number(value), .number, syntax)
        case .text(let utf8): return emit(.text(code.string(utf8)), .string, syntax)
        case .pattern: return emit(.thing, .pattern, syntax)
        case .list: throw Mistake("Unexpected array literal.", at: syntax.start)
        case .name(let name): return try variable(name, syntax)
        case .member(let target, let name): return try member(name, of: target, syntax)
        case .index(let target, let index): return try self.index(target, index, syntax)
        case .call(let target, let arguments): return try call(target, arguments, syntax)
        case .not(let operand):
            let checked = try check(operand)
            guard checked.type == .boolean else { throw Mistake("! only operates on booleans.", at: operand.start) }
            return emit(.not(checked.instruction), .boolean, syntax)
        case .negated(let operand):
            let checked = try check(operand)
            guard checked.type.isNumeric else { throw Mistake("- only operates on numbers.", at: operand.start) }
            return emit(.negated(checked.instruction), .number, syntax)
        case .binary(let sign, let left, let right): return try binary(sign, left, right, syntax)
        case .logical(let logical, let operands): return try self.logical(logical, operands, syntax)
        case .choice(let condition, let first, let second):
            return try choice(condition, first, second, syntax)
        }
    }

    mutating func emit(_ instruction: Instruction, _ type: StaticType, _ syntax: Syntax) -> Checked {
        Checked(instruction: code.append(instruction, syntax.start..<syntax.end), type: type)
    }

    private mutating func variable(_ name: [UInt8], _ syntax: Syntax) throws(Mistake) -> Checked {
        switch String(decoding: name, as: UTF8.self) {
        case "auth": return emit(.auth, .auth, syntax)
        case "now": return emit(.now, .number, syntax)
        case "root": return emit(.snapshot(.root), .snapshot, syntax)
        case "data": return emit(.snapshot(.data), .snapshot, syntax)
        case "newData":
            guard scope.kind != .read else {
                throw Mistake("newData is invalid in .read expressions.", at: syntax.start)
            }
            return emit(.snapshot(.newData), .snapshot, syntax)
        // Only its properties mean something.
        case "query": return emit(.thing, .query, syntax)
        case let text:
            guard let wildcard = scope.wildcards.last(where: { $0.name == name }) else {
                throw Mistake("Unknown variable '\(text)'.", at: syntax.start)
            }
            return emit(.wildcard(wildcard.depth), .string, syntax)
        }
    }

    // MARK: Operators

    private mutating func logical(
        _ logical: LogicalOperator, _ operands: [Syntax], _ syntax: Syntax
    ) throws(Mistake) -> Checked {
        var instructions: [Int] = []
        for (number, operand) in operands.enumerated() {
            let checked = try check(operand)
            guard checked.type == .boolean else {
                let side = number == 0 ? "Left" : "Right"
                throw Mistake("\(side) operand of \(logical.text) must be boolean.", at: operand.start)
            }
            instructions.append(checked.instruction)
        }
        let first = code.list(instructions)
        return emit(.logical(logical, first: first, count: instructions.count), .boolean, syntax)
    }

    private mutating func binary(
        _ sign: BinaryOperator, _ left: Syntax, _ right: Syntax, _ syntax: Syntax
    ) throws(Mistake) -> Checked {
        let a = try operand(left, of: sign, isLeft: true)
        let b = try operand(right, of: sign, isLeft: false)
        let (x, y) = (a.instruction, b.instruction)
        switch sign {
        case .equal: return emit(.equal(x, y, isNegated: false), .boolean, syntax)
        case .notEqual: return emit(.equal(x, y, isNegated: true), .boolean, syntax)
        case .order(let order): return emit(.order(order, x, y), .boolean, syntax)
        case .arithmetic(let arithmetic): return emit(.arithmetic(arithmetic, x, y), .number, syntax)
        case .add:
            let types = [a.type, b.type]
            let type: StaticType = types == [.number, .number] ? .number : types.contains(.string) ? .string : .value
            return emit(.add(x, y), type, syntax)
        }
    }

    private mutating func operand(
        _ syntax: Syntax, of sign: BinaryOperator, isLeft: Bool
    ) throws(Mistake) -> Checked {
        let checked = try check(syntax)
        let isAllowed: Bool
        let wanted: String
        switch sign {
        case .equal, .notEqual:
            isAllowed = checked.type.isComparable
            // The service leaves out one word in one of the four texts.
            let isShort = sign == .equal && isLeft
            wanted = isShort ? "is not a number, boolean, string, null." : "is not a number, boolean, string, or null."
        case .order: (isAllowed, wanted) = (checked.type.isOrdered, "must be a number or string.")
        case .add: (isAllowed, wanted) = (checked.type.isOrdered, "is not a number or string.")
        case .arithmetic: (isAllowed, wanted) = (checked.type.isNumeric, "is not a number.")
        }
        guard isAllowed else {
            let side = isLeft ? "left" : "right"
            throw Mistake("Invalid \(sign.text) expression: \(side) operand \(wanted)", at: syntax.start)
        }
        return checked
    }

    private mutating func choice(
        _ condition: Syntax, _ first: Syntax, _ second: Syntax, _ syntax: Syntax
    ) throws(Mistake) -> Checked {
        let test = try check(condition)
        guard test.type == .boolean else { throw Mistake("condition of ? must be boolean.", at: condition.start) }
        let (a, b) = (try check(first), try check(second))
        return emit(.choice(test.instruction, a.instruction, b.instruction), a.type.joined(with: b.type), syntax)
    }
}
