import HearthJSONTree

/// Finds the listeners that depend on certain places: those that the rules read when they allowed the listener.
struct ReadDependencies {
    struct Listener: Hashable, Comparable {
        enum Name: Hashable {
            case plain(Path)
            case query(ListenerForm.Name)
        }

        var connection: ConnectionID
        var name: Name

        /// By connection; of one connection, plain listeners come first.
        static func < (a: Listener, b: Listener) -> Bool {
            if a.connection != b.connection { return a.connection.raw < b.connection.raw }
            switch (a.name, b.name) {
            case (.plain(let a), .plain(let b)): return a < b
            case (.query(let a), .query(let b)): return a < b
            case (.plain, .query): return true
            case (.query, .plain): return false
            }
        }
    }

    private struct Place: ByteOrdered {
        let orderBytes: [UInt8]
    }

    /// The same twice: by place, in path order, and by listener.
    private var order = SortedChunks<Place>()
    private var listeners: [[UInt8]: Set<Listener>] = [:]
    private var places: [Listener: Set<Path>] = [:]

    var isEmpty: Bool { places.isEmpty }

    /// Replaces what a listener depends on.
    mutating func set(_ listener: Listener, _ dependencies: Set<Path>) {
        remove(listener)
        if dependencies.isEmpty { return }
        places[listener] = dependencies
        for place in dependencies {
            if listeners[place.encoded] == nil { _ = order.insert(Place(orderBytes: place.encoded)) }
            listeners[place.encoded, default: []].insert(listener)
        }
    }

    mutating func remove(_ listener: Listener) {
        guard !isEmpty, let dependencies = places.removeValue(forKey: listener) else { return }
        for place in dependencies {
            listeners[place.encoded]?.remove(listener)
            if listeners[place.encoded]?.isEmpty == true {
                listeners[place.encoded] = nil
                _ = order.remove(place.encoded)
            }
        }
    }

    /// Those that depend on something that a change concerns, in their order.
    func listeners(concernedBy change: Change) -> [Listener] {
        if isEmpty { return [] }
        var found: Set<Listener> = []
        if case .setChildren(of: let base, _) = change { found = listeners(concernedBy: base) }
        for assignment in change.assignmentsOneByOne { found.formUnion(listeners(concernedBy: assignment.target.path)) }
        return found.sorted()
    }

    /// Those that depend on something at a place, above it or below it. O(depth + found · log n).
    func listeners(concernedBy path: Path) -> Set<Listener> {
        var found = listeners[[]] ?? []
        for segment in path.segments {
            if let here = listeners[Array(path.encoded[..<segment.upperBound])] { found.formUnion(here) }
        }
        var walk = order.walk(from: path.encoded + [0], below: path.subtreeEnd, .ascending)
        while let place = walk.next() { found.formUnion(listeners[place.orderBytes] ?? []) }
        return found
    }
}
