/// One node of a compiled expression. Numbers are those of earlier instructions of the program, or of its tables. It
/// holds no reference, so running it counts none.
enum Instruction: Sendable {
    case null
    case bool(Bool)
    case number(Double)
    /// A string of the program's table.
    case text(Int)
    case now
    /// The key at a depth, counted from 1.
    case wildcard(Int)
    case auth
    case query(QueryProperty)
    /// `limitToFirst` in a rule that asks for conditions.
    case firstCount
    /// The path is one of the program's table.
    case condition(QueryConditionBound, path: Int)
    case snapshot(SnapshotOrigin)
    /// The subtree, by encoded segments of the program's table.
    case literalChild(of: Int, segments: Int)
    case child(of: Int, Int)
    case parent(of: Int)
    case test(SnapshotTest, of: Int)
    /// The paths of the children are a range of the program's operands.
    case hasChildren(of: Int, first: Int, count: Int)
    case value(of: Int)
    case priority(of: Int)
    /// Of `auth`: a string of the table.
    case member(of: Int, name: Int)
    case index(of: Int, Int)
    case length(of: Int)
    case textTest(TextTest, of: Int, Int)
    case matches(of: Int, pattern: Int)
    case replace(of: Int, Int, Int)
    case lowercased(of: Int)
    case uppercased(of: Int)
    case not(Int)
    case negated(Int)
    /// A range of the program's operands.
    case logical(LogicalOperator, first: Int, count: Int)
    case equal(Int, Int, isNegated: Bool)
    case order(OrderOperator, Int, Int)
    case add(Int, Int)
    case arithmetic(ArithmeticOperator, Int, Int)
    case choice(Int, Int, Int)
    /// A regular expression or a method as one side of a choice: not null, and equal to nothing.
    case thing
}

enum SnapshotOrigin: Sendable {
    case root
    case data
    case newData
}

enum SnapshotTest: Sendable {
    case exists
    case hasChildren
    case isString
    case isNumber
    case isBoolean
}

enum TextTest: Sendable {
    case contains
    case beginsWith
    case endsWith
}

/// The bounds that a condition of a query sets (docs/rules.md 3.1).
enum QueryConditionBound: String, Sendable {
    case equal = "where"
    case from = "whereFrom"
    case to = "whereTo"
}

/// A property of a query that a rule can read (docs/rules.md 3.1).
enum QueryProperty: String, Sendable {
    case orderByKey
    case orderByValue
    case orderByPriority
    case orderByChild
    case startAt
    case endAt
    case equalTo
    case limitToFirst
    case limitToLast

    var type: StaticType {
        switch self {
        case .orderByKey, .orderByValue, .orderByPriority: .boolean
        default: .queryValue
        }
    }
}
