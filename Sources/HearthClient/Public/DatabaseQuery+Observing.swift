import HearthJSONTree
import HearthWireProtocol
import HearthClientSession

/// What an observer is told about.
public enum DataEventType: Hashable, Sendable, CaseIterable {
    /// All that is selected, first as it is, then after every change of it.
    case value
    /// A child that is there, or has come.
    case childAdded
    case childChanged
    /// The value by which children are ordered changed. A `childChanged` follows.
    case childMoved
    case childRemoved

    var kinds: EventKinds {
        switch self {
        case .value: .value
        case .childAdded: .childAdded
        case .childChanged: .childChanged
        case .childMoved: .childMoved
        case .childRemoved: .childRemoved
        }
    }
}

/// Names an observer to ``DatabaseQueryable/removeObserver(withHandle:)``.
public struct DatabaseHandle: Hashable, Sendable {
    let number: Int
}

extension DatabaseQueryable {
    // MARK: Blocks

    /// Calls a block for every event, on the database's thread, until the observer is removed or the database closed.
    /// Until then the observer keeps the database, and the block what it captures. Of one change, children
    /// that were removed come first, then those that were added or moved, then those that changed, each in the query's
    /// order, then the value.
    ///
    /// - parameter type: the kind of events.
    /// - parameter block: called with the value, or the child that the event is about.
    /// - parameter cancel: called once if the server refuses, or later revokes, the right to read, or if the query
    ///   makes no sense.
    @discardableResult
    public func observe(
        _ type: DataEventType, with block: @escaping @Sendable (DataSnapshot) -> Void,
        withCancel cancel: (@Sendable (DatabaseError) -> Void)? = nil
    ) -> DatabaseHandle {
        observe(type, andPreviousSiblingKeyWith: { snapshot, _ in block(snapshot) }, withCancel: cancel)
    }

    /// The same, with the key of the child before it in the query's order; nil for the first one, for a child that was
    /// removed and for values.
    @discardableResult
    public func observe(
        _ type: DataEventType, andPreviousSiblingKeyWith block: @escaping @Sendable (DataSnapshot, String?) -> Void,
        withCancel cancel: (@Sendable (DatabaseError) -> Void)? = nil
    ) -> DatabaseHandle {
        observe(type.kinds, onCancel: { cancel?($0) }) { block($0.snapshot, $0.previous) }
    }

    /// Calls a block for the first event only.
    public func observeSingleEvent(
        of type: DataEventType, with block: @escaping @Sendable (DataSnapshot) -> Void,
        withCancel cancel: (@Sendable (DatabaseError) -> Void)? = nil
    ) {
        observe(type.kinds, isOnce: true, onCancel: { cancel?($0) }) { block($0.snapshot) }
    }

    /// The same, with the key of the child before it; nil as for observers.
    public func observeSingleEvent(
        of type: DataEventType, andPreviousSiblingKeyWith block: @escaping @Sendable (DataSnapshot, String?) -> Void,
        withCancel cancel: (@Sendable (DatabaseError) -> Void)? = nil
    ) {
        observe(type.kinds, isOnce: true, onCancel: { cancel?($0) }) { block($0.snapshot, $0.previous) }
    }

    /// Ends an observer. Events that are being told may still come, none after what this thread asks for next is done.
    public func removeObserver(withHandle handle: DatabaseHandle) {
        query.ref.database.run { $0.removeObserver(handle.number) }
    }

    /// Ends all observers of this query; of a reference those of all queries at the location. Transactions and what is
    /// kept up to date (``keepSynced(_:)``) go on.
    public func removeAllObservers() {
        let isWhole = query.isWhole
        guard let (place, object) = try? query.resolved() else { return }
        query.ref.database.run { $0.removeObservers(at: place, isWhole ? nil : object.query) }
    }

    /// Keeps what the query selects up to date, whether or not somebody observes it, until it is called with `false`.
    public func keepSynced(_ isKept: Bool) {
        guard let (place, object) = try? query.resolved(), !place.isInfo else { return }
        let number = query.ref.database.makeObserverNumber()
        query.ref.database.run { $0.keepSynced(isKept, place, object, number) }
    }

    // MARK: Tasks

    /// The value as the server has it; as this client sees it while somebody observes it and the server has said what
    /// is there. Waits for a connection.
    ///
    /// - throws: `permissionDenied`, `refused`, `invalidPath`, `invalidQuery`, `cancelled`, `disconnected`.
    public func getData() async throws(DatabaseError) -> DataSnapshot {
        let (place, object) = try query.resolved()
        let node: Node = try await query.ref.database.wait { core, reply in
            core.get(place, object, isAbandoned: { reply.isSettled }) { reply.settle($0) }
        }
        return DataSnapshot(node, at: query.ref, index: query.order)
    }

    /// Calls a block with the value as ``getData()`` gives it, or an error.
    ///
    /// - parameter completion: called on the database's thread.
    public func getData(
        completion: @escaping @Sendable (_ error: DatabaseError?, _ snapshot: DataSnapshot?) -> Void
    ) {
        let resolved: (place: DatabasePlace, query: QueryObject)
        do throws(DatabaseError) { resolved = try query.resolved() } catch { return completion(error, nil) }
        let (reference, order) = (query.ref, query.order)
        let isPosted = reference.database.run { core in
            core.get(resolved.place, resolved.query, isAbandoned: { false }) { result in
                switch result {
                case .success(let node): completion(nil, DataSnapshot(node, at: reference, index: order))
                case .failure(let error): completion(error, nil)
                }
            }
        }
        if !isPosted { completion(.closed, nil) }
    }

    /// The first event of a kind: the value as it is known, or the next child that something happens to.
    public func observeSingleEvent(of type: DataEventType) async throws(DatabaseError) -> DataSnapshot {
        try await observeSingleEventAndPreviousSiblingKey(of: type).0
    }

    /// The same, with the key of the child before it; nil as for observers.
    public func observeSingleEventAndPreviousSiblingKey(
        of type: DataEventType
    ) async throws(DatabaseError) -> (DataSnapshot, String?) {
        let database = query.ref.database
        let handle = DatabaseHandle(number: database.makeObserverNumber())
        defer { removeObserver(withHandle: handle) }
        return try await database.wait { (reply: Reply<(DataSnapshot, String?), DatabaseError>) in
            // Removed by this task, not at the event itself: the value is cached once the listen is answered.
            observe(type.kinds, handle, isOnce: false, onCancel: { reply.settle(.failure($0)) }) { event in
                reply.settle(.success((event.snapshot, event.previous)))
            }
        }
    }

    /// The value, then the value after every change. A reader that is slow does not see every one, but always the last.
    ///
    ///     for try await room in rooms.child("lobby").values() { … }
    ///
    /// Observing begins with the loop and ends with it, or with its task.
    public func values() -> DatabaseEvents<DataSnapshot> {
        DatabaseEvents(query, .value, .newest(1)) { $0.snapshot }
    }

    /// The same, decoded; nil while there is nothing. A value of another shape ends the sequence with `typeMismatch`.
    public func values<Value: Decodable & Sendable>(as type: Value.Type) -> DatabaseEvents<Value?> {
        DatabaseEvents(query, .value, .newest(1)) { (event) throws(DatabaseError) in
            event.snapshot.exists() ? try event.snapshot.data(as: type) : nil
        }
    }

    /// The children, decoded, in the query's order, then the same after every change; none while there is nothing. A
    /// reader that is slow does not see every state, but always the last. O(value) for each.
    ///
    ///     for try await notes in notes.queryLimited(toLast: 50).children(as: Note.self) { … }
    ///
    /// A child of another shape does not end the sequence: it is in ``DatabaseList/malformed``. A value that has no
    /// children does, with `typeMismatch`.
    public func children<Value: Decodable & Sendable>(as type: Value.Type) -> DatabaseEvents<DatabaseList<Value>> {
        DatabaseEvents(query, .value, .newest(1)) { (event) throws(DatabaseError) in
            try event.snapshot.children(as: type)
        }
    }

    /// What happens to children, beginning with those that are there. None is left out: a reader that falls too far
    /// behind gets `slowReader` (``DatabaseOptions/waitingEventsMax``).
    public func childEvents() -> DatabaseEvents<DatabaseChildEvent> {
        let max = query.ref.database.core.options.waitingEventsMax
        return DatabaseEvents(query, .child, .oldest(max)) { event in
            switch event.kind {
            case .added?: .added(event.snapshot, after: event.previous)
            case .moved?: .moved(event.snapshot, after: event.previous)
            case .changed?: .changed(event.snapshot, after: event.previous)
            case .removed?, nil: .removed(event.snapshot)
            }
        }
    }
}

/// Something that happened to a child. `after` is the key of the child before it, in the query's order.
public enum DatabaseChildEvent: Sendable {
    case added(DataSnapshot, after: String?)
    case changed(DataSnapshot, after: String?)
    /// The value by which children are ordered changed. A `changed` follows.
    case moved(DataSnapshot, after: String?)
    /// With the value that it had.
    case removed(DataSnapshot)

    /// The child that something happened to.
    public var snapshot: DataSnapshot {
        switch self {
        case .added(let snapshot, _), .changed(let snapshot, _), .moved(let snapshot, _), .removed(let snapshot):
            snapshot
        }
    }
}

/// An event on its way to an observer.
struct ObservedEvent: Sendable {
    /// Nil for a value.
    let kind: ChildEvent.Kind?
    let snapshot: DataSnapshot
    let previous: String?
}

extension DatabaseQueryable {
    /// Begins to observe. What is wrong with the query is told to `onCancel`, on the database's thread.
    @discardableResult
    func observe(
        _ kinds: EventKinds, _ handle: DatabaseHandle? = nil, isOnce: Bool = false,
        onCancel: @escaping @Sendable (DatabaseError) -> Void, onEvent: @escaping @Sendable (ObservedEvent) -> Void
    ) -> DatabaseHandle {
        let query = query
        let database = query.ref.database
        let handle = handle ?? DatabaseHandle(number: database.makeObserverNumber())
        let resolved = Result { () throws(DatabaseError) in try query.resolved() }
        let isPosted = database.run { [ref = query.ref, order = query.order] core in
            let observer = DatabaseCore.Observer(
                isInfo: (try? resolved.get().place.isInfo) ?? false, isOnce: isOnce,
                onEvent: { onEvent(ObservedEvent($0, at: ref, order: order)) }, onCancel: onCancel)
            switch resolved {
            case .success(let (place, object)): core.observe(handle.number, place, object, kinds, observer)
            case .failure(let error): onCancel(error)
            }
        }
        if !isPosted { onCancel(.closed) }
        return handle
    }
}

extension ObservedEvent {
    fileprivate init(_ what: SyncEvent.What, at ref: DatabaseReference, order: QueryIndex) {
        switch what {
        case .value(let node): self.init(kind: nil, snapshot: DataSnapshot(node, at: ref, index: order), previous: nil)
        case .child(let kind, let key, let node, let previous):
            let snapshot = DataSnapshot(node, at: ref.child(key))
            self.init(kind: kind, snapshot: snapshot, previous: previous?.description)
        }
    }
}
