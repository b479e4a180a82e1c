/// A commit's change of one child of a node, as an index sees it.
package struct ChildChange: Hashable, Sendable {
    /// Nil if there was no such child.
    package var before: IndexPlace?
    /// Nil if there is no such child any more. Equal to `before` if only other content changed.
    package var after: IndexPlace?

    package init(before: IndexPlace?, after: IndexPlace?) {
        self.before = before
        self.after = after
    }
}

/// A commit's changes of the children that a query selects. Each child is in one list only, and each list is in index
/// order.
package struct WindowDifference: Hashable, Sendable {
    package struct Changed: Hashable, Sendable {
        package var before: IndexPlace
        package var after: IndexPlace

        package init(before: IndexPlace, after: IndexPlace) {
            self.before = before
            self.after = after
        }

        /// Whether the value by which the index orders changed.
        package var hasMoved: Bool { before != after }
    }

    /// Children that were selected and are not any more, with their places before the commit.
    package var left: [IndexPlace] = []
    /// Children that are selected now and were not: the query's listeners do not know them yet.
    package var entered: [IndexPlace] = []
    /// Children that stayed and were changed by the commit, in the order of their places after it.
    package var changed: [Changed] = []

    package init() {}

    package var isEmpty: Bool { left.isEmpty && entered.isEmpty && changed.isEmpty }

    /// Where a changed child is selected; nil where it is not.
    mutating func note(before: IndexPlace?, after: IndexPlace?) {
        switch (before, after) {
        case (let before?, let after?): changed.append(Changed(before: before, after: after))
        case (let before?, nil): left.append(before)
        case (nil, let after?): entered.append(after)
        case (nil, nil): break
        }
    }

    mutating func sort() {
        left.sort()
        entered.sort()
        changed.sort { $0.after < $1.after }
    }
}
