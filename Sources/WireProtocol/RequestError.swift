package import HearthJSONTree

/// Why a request cannot be carried out.
package enum RequestError: Error, Hashable, Sendable {
    case missing(String)
    case path(PathError)
    /// A key of an update is not a path; the offset is that of its opening quote.
    case key(PathError, at: Int)
    case value(JSONError)
    /// Two paths of an update where one contains the other.
    case overlappingPaths
    case query(QueryError)

    /// For people; the status on the wire is `invalid_argument`.
    package var message: String {
        switch self {
        case .missing(let what): "the request has no valid \(what)"
        case .path(let error), .key(let error, _): "invalid path: \(error)"
        case .value(let error):
            // The depth left below a path is not a helpful number.
            if case .tooDeep = error.kind {
                "invalid data: \(PathError.tooDeep) at byte \(error.offset)"
            } else {
                "invalid data: \(error) at byte \(error.offset)"
            }
        case .overlappingPaths: "an update may not set a path and another one above it"
        case .query(let error): "invalid query: \(error)"
        }
    }
}
