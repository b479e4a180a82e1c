import HearthJSONTree
import HearthWireProtocol

/// One query at one place, and its observers: the values that they have received, and the events of a change.
final class QueryView {
    struct Observer {
        /// Unique in the tree.
        let id: Int
        let kinds: EventKinds
    }

    let path: Path
    let object: QueryObject
    private(set) var observers: [Observer] = []
    /// The view's own listen, if no other one covers it.
    var listen: ServerListen?
    /// The server's value for that listen; nil before it is known. It holds only children that the query selects.
    var selection: Node?
    /// The value that observers see, before the query selects from it.
    private(set) var known = KnownNode.nothing
    /// The places of the selected children, in order. Nil while they are not needed: everything is selected, and all
    /// observers want only the value.
    private var window: QueryWindow?

    init(path: Path, query: QueryObject) {
        self.path = path
        object = query
        if !query.query.selectsEverything { keepOrder() }
    }

    private func keepOrder() {
        guard window == nil else { return }
        var new = QueryWindow(query, keepsOrder: true)
        new.fill(query.selectedPlaces(in: known.node))
        window = new
    }

    var query: Query { object.query }

    /// The children that the query selects now.
    var value: Node {
        let node = known.node
        guard let window, !query.selectsEverything else { return node }
        let isAll = node.leaf == nil && node.priority == nil && node.children.count == window.count
        return isAll ? node : node.keeping(window.members)
    }

    /// Adds an observer, and answers its first events.
    func add(_ observer: Observer) -> [SyncEvent] {
        observers.append(observer)
        if !observer.kinds.isDisjoint(with: .child) { keepOrder() }
        var events = childEvents(window?.initialEvents ?? [], before: known.node, to: [observer])
        if known.isComplete { events += valueEvent(to: [observer]) }
        return events
    }

    /// Applies the new value and answers the events: children that left, then those that were added or moved, then
    /// those that changed, each in the query's order, and last the value.
    ///
    /// - parameter keys: the children that may have changed, each once; nil if anything may.
    func update(_ new: KnownNode, keys: [Key]?) -> [SyncEvent] {
        let old = known
        known = new
        let becomesComplete = new.isComplete && !old.isComplete
        guard window != nil else {
            let isChanged = becomesComplete || !isEqual(old.node, new.node, keys)
            return isChanged && new.isComplete ? valueEvent(to: observers) : []
        }
        let difference = apply(changes(from: old.node, to: new.node, keys: keys))
        let isOtherwise = query.selectsEverything && !isEqual(old.node, new.node, [])
        guard becomesComplete || isOtherwise || !difference.isEmpty else { return [] }
        var events = childEvents(window?.events(of: difference).inTellingOrder ?? [], before: old.node, to: observers)
        if new.isComplete { events += valueEvent(to: observers) }
        return events
    }

    private func apply(_ changes: [ChildChange]) -> WindowDifference {
        window?.apply(changes) { refill(beyond: $0, $1) } ?? WindowDifference()
    }

    /// Compares two values; only the named children, if any are named.
    private func isEqual(_ a: Node, _ b: Node, _ keys: [Key]?) -> Bool {
        guard let keys else { return a == b }
        return a.leaf == b.leaf && a.priority == b.priority && keys.allSatisfy { a.child($0) == b.child($0) }
    }

    /// Removes an observer.
    func remove(_ id: Int) { observers.removeAll { $0.id == id } }

    private func changes(from old: Node, to new: Node, keys: [Key]?) -> [ChildChange] {
        func change(_ key: Key, _ before: Node, _ after: Node) -> ChildChange? {
            if before == after { return nil }
            return ChildChange(
                before: query.index.place(of: before, key: key), after: query.index.place(of: after, key: key))
        }
        if let keys { return keys.compactMap { change($0, old.child($0), new.child($0)) } }
        var changes: [ChildChange?] = []
        var (before, after) = (old.children.makeIterator(), new.children.makeIterator())
        var (left, right) = (before.next(), after.next())
        while let key = [left?.key, right?.key].compactMap(\.self).min() {
            let (gone, come) = (left?.key == key ? left : nil, right?.key == key ? right : nil)
            changes.append(change(key, gone?.node ?? .null, come?.node ?? .null))
            if gone != nil { left = before.next() }
            if come != nil { right = after.next() }
        }
        return changes.compactMap(\.self)
    }

    private func refill(beyond place: IndexPlace, _ count: Int) -> [IndexPlace] {
        let places = query.places(in: known.node)
        if query.limit?.side == .last { return places.lazy.filter { $0 < place }.suffix(count).reversed() }
        return Array(places.lazy.filter { place < $0 }.prefix(count))
    }

    private func childEvents(_ events: [ChildEvent], before: Node, to observers: [Observer]) -> [SyncEvent] {
        events.flatMap { event in
            let wanting = observers.filter { $0.kinds.contains(event.kind.flag) }
            if wanting.isEmpty { return [] as [SyncEvent] }
            let key = event.place.key
            let node = event.kind == .removed ? before.child(key) : known.node.child(key)
            let what = SyncEvent.What.child(event.kind, key, node, previous: event.previous?.key)
            return wanting.map { SyncEvent(observer: $0.id, path: path, what: what) }
        }
    }

    private func valueEvent(to observers: [Observer]) -> [SyncEvent] {
        let wanting = observers.filter { $0.kinds.contains(.value) }
        if wanting.isEmpty { return [] }
        let value = value
        return wanting.map { SyncEvent(observer: $0.id, path: path, what: .value(value)) }
    }
}
