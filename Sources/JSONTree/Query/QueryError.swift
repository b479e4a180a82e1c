/// Why bounds and a limit are no query.
package enum QueryError: Error, Hashable, Sendable {
    /// A bound is an object or array.
    case boundNotPrimitive
    /// A bound in the order of the keys is not a string.
    case keyBoundNotString
    case limitNotPositive
    /// A query with conditions is malformed: how, for people.
    case conditions(String)
}

extension QueryError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .boundNotPrimitive: "a bound is neither null, a boolean, a number nor a string"
        case .keyBoundNotString: "a bound in the order of the keys is not a string"
        case .limitNotPositive: "the limit is less than 1"
        case .conditions(let text): text
        }
    }
}
