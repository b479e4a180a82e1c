/// Why a text is not the URL of a database.
package struct DatabaseURLError: Error, Hashable, Sendable {
    /// For people.
    package let reason: String

    init(_ reason: String) { self.reason = reason }
}
