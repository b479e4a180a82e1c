/// The type of an expression, as far as it is known when the rules are loaded (docs/rules.md 3.3).
enum StaticType: Hashable, Sendable {
    case boolean
    case number
    case string
    case null
    case pattern
    case snapshot
    case method
    /// A primitive that is known only when the rule runs.
    case value
    /// `auth` and its members.
    case auth
    case query
    case queryValue
    /// A choice between different types.
    case mixed

    var isComparable: Bool {
        switch self {
        case .boolean, .number, .string, .null, .value, .auth, .queryValue, .mixed: true
        default: false
        }
    }

    /// May be an operand of an order or of `+`.
    var isOrdered: Bool { isComparable && self != .boolean && self != .null }

    /// May be an operand of arithmetic.
    var isNumeric: Bool { isOrdered && self != .string }

    /// May be an argument where a string is wanted.
    var isTextual: Bool {
        switch self {
        case .string, .value, .auth, .mixed: true
        default: false
        }
    }

    /// The type of a choice between this and another one.
    func joined(with other: StaticType) -> StaticType {
        if self == other { return self }
        let either = [self, other]
        return either.contains(.string) || either.contains(.value) || either.contains(.auth) ? .value : .mixed
    }
}
