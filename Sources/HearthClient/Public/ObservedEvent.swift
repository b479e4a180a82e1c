import HearthJSONTree

/// An event on its way to an observer.
struct ObservedEvent: Sendable {
    /// Nil for a value.
    var kind: ChildEvent.Kind?
    let snapshot: DataSnapshot
    var previous: String?
}

extension ObservedEvent {
    init(_ what: SyncEvent.What, at ref: DatabaseReference, order: QueryIndex) {
        switch what {
        case .value(let node): self.init(snapshot: DataSnapshot(node, at: ref, index: order))
        case .child(let kind, let key, let node, let previous):
            self.init(kind: kind, snapshot: DataSnapshot(node, at: ref.child(key)), previous: previous?.description)
        }
    }
}
