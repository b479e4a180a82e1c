/// An application's event about one child of a query (Protocol.md 18.1).
package struct ChildEvent: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case removed
        case added
        /// The value by which the index orders changed. A `changed` follows.
        case moved
        case changed
    }

    package var kind: Kind
    /// Of a removed child the place it had, of all others the one they have.
    package var place: IndexPlace
    /// The member before it after the commit; nil for the first one, and for a removed child.
    package var previous: IndexPlace?

    package init(_ kind: Kind, _ place: IndexPlace, after previous: IndexPlace? = nil) {
        self.kind = kind
        self.place = place
        self.previous = previous
    }
}

extension QueryWindow {
    /// The events of a difference that was applied last: all removed, then all added, moved, and changed, each in index
    /// order. The window must keep its order.
    package func events(of difference: WindowDifference) -> [ChildEvent] {
        func event(_ kind: ChildEvent.Kind, _ place: IndexPlace) -> ChildEvent {
            ChildEvent(kind, place, after: predecessor(of: place))
        }
        return difference.left.map { ChildEvent(.removed, $0) }
            + difference.entered.map { event(.added, $0) }
            + difference.changed.filter(\.hasMoved).map { event(.moved, $0.after) }
            + difference.changed.map { event(.changed, $0.after) }
    }

    /// The events of the first value: all members are added.
    package var initialEvents: [ChildEvent] {
        var previous: IndexPlace?
        return members.map { place in
            defer { previous = place }
            return ChildEvent(.added, place, after: previous)
        }
    }
}

extension [ChildEvent] {
    /// The events of one change as listeners are told of them: removed, then added and moved children together in index
    /// order, then changed ones. So a listener that takes one event after the other finds each predecessor where it
    /// belongs: it was there before and stays, or came right before.
    package var inTellingOrder: [ChildEvent] {
        let arrivals = filter { $0.kind == .added || $0.kind == .moved }.sorted { $0.place < $1.place }
        return filter { $0.kind == .removed } + arrivals + filter { $0.kind == .changed }
    }
}
