/// An expression as it is written (docs/rules.md 3). `start` and `end` are offsets into the rule's text.
struct Syntax {
    indirect enum Form {
        case null
        case bool(Bool)
        case number(Double)
        case text([UInt8])
        case pattern(Pattern)
        case list([Syntax])
        case name([UInt8])
        /// A dot, or brackets around a string literal.
        case member(Syntax, name: [UInt8])
        /// Brackets around anything else.
        case index(Syntax, Syntax)
        case call(Syntax, [Syntax])
        case not(Syntax)
        case negated(Syntax)
        case binary(BinaryOperator, Syntax, Syntax)
        /// Two or more operands of `&&` or `||`.
        case logical(LogicalOperator, [Syntax])
        case choice(Syntax, Syntax, Syntax)
    }

    var form: Form
    var start: Int
    var end: Int
    /// Levels of the tree. Walks over it are recursive, so it is bounded (``ExpressionParser/maximumDepth``).
    var depth: Int
}

enum LogicalOperator: Hashable, Sendable {
    case and
    case or

    var text: String { self == .and ? "&&" : "||" }
}

/// `===` and `!==` are `==` and `!=` (docs/rules.md 3).
enum BinaryOperator: Hashable, Sendable {
    case equal
    case notEqual
    case order(OrderOperator)
    case add
    case arithmetic(ArithmeticOperator)

    /// As messages name it.
    var text: String {
        switch self {
        case .equal: "=="
        case .notEqual: "!="
        case .order(let order): order.rawValue
        case .add: "+"
        case .arithmetic(let arithmetic): arithmetic.rawValue
        }
    }
}

enum OrderOperator: String, Sendable {
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
}

enum ArithmeticOperator: String, Sendable {
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case remainder = "%"
}
