package import HearthJSONTree

/// How many children the places of a pattern may have (docs/using/additions.md 4).
package struct ChildLimit: Hashable, Sendable {
    package static let largestCount = 100_000

    package var pattern: IndexPattern
    package var count: Int
    /// The first children in key order make room for new ones. Otherwise new ones are refused.
    package var dropsFirst: Bool

    package init(pattern: IndexPattern, count: Int, dropsFirst: Bool = false) {
        self.pattern = pattern
        self.count = count
        self.dropsFirst = dropsFirst
    }

    package func refusalText(at collection: Path) -> String {
        "\"\(collection)\" may not have more than \(count) children"
    }
}
