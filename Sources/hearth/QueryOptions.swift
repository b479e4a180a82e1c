import HearthShell
import WireProtocol

/// The options that make a query of a path.
enum QueryOptions {
    static let options = QueryWords.options

    static let details = QueryWords.details

    /// Nil if no option asks for a query.
    static func query(_ arguments: Arguments) throws(UsageError) -> QueryObject? {
        try UsageError.of { () throws(ShellError) in try QueryWords.query { arguments[$0].map { Word($0) } } }
    }
}
