package import HearthJSONTree

/// Which children of a node are described, and how.
package struct ChildrenPage: Sendable {
    /// Those after this key; all if it is nil.
    package var after: Key?
    /// So many of them at most.
    package var limit: Int
    /// Nothing but their number.
    package var isCount: Bool

    package init(after: Key? = nil, limit: Int, isCount: Bool = false) {
        self.after = after
        self.limit = limit
        self.isCount = isCount
    }
}
