package import HearthJSONTree

/// Two children of a collection that share a value that must be unique.
package struct UniqueDuplicate: Hashable, Sendable {
    package var collection: Path
    package var first: Key
    package var second: Key
}

/// The children that share values that must be unique.
struct UniqueFindings {
    /// Pairs that are kept, to be named.
    static let pairsMax = 100

    private(set) var pairs: [UniqueDuplicate] = []
    private(set) var count = 0

    mutating func add(_ pair: UniqueDuplicate) {
        if pairs.count < Self.pairsMax { pairs.append(pair) }
        count += 1
    }

    mutating func keep(_ isLeft: (UniqueDuplicate) -> Bool) { pairs.removeAll { !isLeft($0) } }
}

/// A value that must be unique, and whether it is.
package struct UniqueStatus: Sendable {
    package enum State: String, Sendable {
        /// The children that were there before the setting are being looked at. New duplicates of those that were not
        /// looked at yet are let in, and found.
        case building
        /// There are no duplicates, and none is let in.
        case enforced
        /// There are duplicates from before the setting. No others are let in.
        case conflicts
    }

    /// As in the settings file: the collections, with `$` for wildcards, and the compared values of their children.
    package var pattern: String
    package var index: QueryIndex
    package var state: State
    /// The first pairs of children that share a value, and how many more there were than the first of each value.
    package var duplicates: [UniqueDuplicate] = []
    package var duplicateCount = 0
}
