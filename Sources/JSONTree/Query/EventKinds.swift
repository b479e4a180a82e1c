/// The events that a listener wants.
package struct EventKinds: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let childAdded = EventKinds(rawValue: 1)
    package static let childChanged = EventKinds(rawValue: 2)
    package static let childMoved = EventKinds(rawValue: 4)
    package static let childRemoved = EventKinds(rawValue: 8)
    /// All that the query selects, after each change of it.
    package static let value = EventKinds(rawValue: 16)
    package static let child: EventKinds = [.childAdded, .childChanged, .childMoved, .childRemoved]

    /// The names, as they are in messages and in SDKs.
    package static let names: [(kind: EventKinds, name: StaticString)] = [
        (.childAdded, "childAdded"), (.childChanged, "childChanged"), (.childMoved, "childMoved"),
        (.childRemoved, "childRemoved"), (.value, "value"),
    ]

    /// Nil for an unknown name.
    package init?(name: UnsafeRawBufferPointer) {
        guard let known = Self.names.first(where: { name.equals($0.name) }) else { return nil }
        self = known.kind
    }
}

extension ChildEvent.Kind {
    /// The kind as one of a set.
    package var flag: EventKinds {
        switch self {
        case .removed: .childRemoved
        case .added: .childAdded
        case .moved: .childMoved
        case .changed: .childChanged
        }
    }
}
