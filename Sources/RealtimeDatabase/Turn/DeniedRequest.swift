package import HearthJSONTree

/// What a principal was not allowed to do, for those who run the database.
package struct DeniedRequest: Sendable {
    /// Milliseconds since 1970.
    package var time: Int64
    /// Empty for nobody.
    package var uid: [UInt8]
    package var path: Path
    package var isWrite: Bool
    /// Why, in one line; nil when too many were denied in one turn to explain them all.
    package var reason: String?
}
