import HearthJSONTree
import HearthWireProtocol
import HearthClientSession

/// The kinds of events.
public enum DataEventType: Hashable, Sendable, CaseIterable {
    /// The whole selection, at first and after every change.
    case value
    /// A child that exists or was added.
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

/// Identifies an observer for ``DatabaseQueryable/removeObserver(withHandle:)``.
public struct DatabaseHandle: Hashable, Sendable {
    let number: Int
}

extension DatabaseQueryable {
    // MARK: Blocks

    /// Calls a block for every event, on the database's thread, until the observer is removed or the database closed.
    /// Until then the observer keeps the database alive, and the block its captures. The events of one change come in
    /// this order: removed children, added and moved ones, changed ones, each in the query's order, then the value.
    ///
    /// - parameter type: the kind of events.
    /// - parameter block: called with the value, or with the child of the event.
    /// - parameter cancel: called once if the server refuses or later revokes the right to read, or if the query is
    ///   invalid.
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
        observe(type.kinds, onCancel: cancel) { block($0.snapshot, $0.previous) }
    }

    /// Calls a block for the first event only.
    public func observeSingleEvent(
        of type: DataEventType, with block: @escaping @Sendable (DataSnapshot) -> Void,
        withCancel cancel: (@Sendable (DatabaseError) -> Void)? = nil
    ) {
        observe(type.kinds, isOnce: true, onCancel: cancel) { block($0.snapshot) }
    }

    /// The same, with the key of the child before it; nil as for observers.
    public func observeSingleEvent(
        of type: DataEventType, andPreviousSiblingKeyWith block: @escaping @Sendable (DataSnapshot, String?) -> Void,
        withCancel cancel: (@Sendable (DatabaseError) -> Void)? = nil
    ) {
        observe(type.kinds, isOnce: true, onCancel: cancel) { block($0.snapshot, $0.previous) }
    }

    /// Removes an observer. Events that are being delivered may still arrive, but none after the next operation of this
    /// thread has finished.
    public func removeObserver(withHandle handle: DatabaseHandle) {
        query.ref.database.run { $0.removeObserver(handle.number) }
    }

    /// Removes all observers with blocks of this query; for a reference, those of all queries at the location. Loops,
    /// tasks that wait for an event, transactions and ``keepSynced(_:)`` are not affected.
    public func removeAllObservers() {
        let isWhole = query.isWhole
        run("keeps its observers") { core, place, object in
            core.removeObservers(at: place, isWhole ? nil : object.query)
        }
    }

    /// Keeps the selection up to date, even without observers, until it is called with `false`.
    public func keepSynced(_ isKept: Bool) {
        let number = query.ref.database.makeObserverNumber()
        run("is not kept up to date") { core, place, object in
            if !place.isInfo { core.keepSynced(isKept, place, object, number) }
        }
    }

    /// Runs work for a valid query. An invalid one is logged, because nobody gets the error.
    ///
    /// - parameter consequence: of an invalid query, for the log.
    private func run(
        _ consequence: String, _ work: @escaping @Sendable (DatabaseCore, DatabasePlace, QueryObject) -> Void
    ) {
        let query = query
        query.ref.database.run { core in
            do throws(DatabaseError) {
                let (place, object) = try query.resolved()
                work(core, place, object)
            } catch { core.options.log(.warning, "\(query.ref) \(consequence): \(error)") }
        }
    }

    // MARK: Tasks

    /// The server's value. If the location is observed and its value known, the value as this client sees it. Waits for
    /// a connection.
    ///
    /// - throws: `permissionDenied`, `refused`, `invalidPath`, `invalidQuery`, `cancelled`, `disconnected`.
    public func getData() async throws(DatabaseError) -> DataSnapshot {
        let (place, object) = try query.resolved()
        let node: Node = try await query.ref.database.wait { core, reply in
            core.get(place, object, isAbandoned: { reply.isSettled }) { reply.settle($0) }
        }
        return DataSnapshot(node, at: query.ref, index: query.order)
    }

    /// Calls a block with the value, as from ``getData()``, or an error.
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

    /// The first event of a kind: the known value, or the next event of a child.
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
            // Removed by this task, not at the event: the position of the value often comes after it.
            observe(type.kinds, handle, isOnce: false, onCancel: { reply.settle(.failure($0)) }) { event in
                reply.settle(.success((event.snapshot, event.previous)))
            }
        }
    }

    /// The value, then the value after every change. A slow reader skips values, but never the last one.
    ///
    ///     for try await room in rooms.child("lobby").values() { … }
    ///
    /// Observing begins with the loop and ends with it, or with its task.
    public func values() -> DatabaseEvents<DataSnapshot> {
        query.events(.value, .bufferingNewest(1)) { $0.snapshot }
    }

    /// The same, decoded; nil while there is no value. A value that cannot be decoded ends the sequence with
    /// `typeMismatch`.
    public func values<Value: Decodable & Sendable>(as type: Value.Type) -> DatabaseEvents<Value?> {
        query.events(.value, .bufferingNewest(1)) { (event) throws(DatabaseError) in
            event.snapshot.exists() ? try event.snapshot.data(as: type) : nil
        }
    }

    /// The children, decoded, in the query's order, then again after every change; empty while there is no value. A
    /// slow reader skips states, but never the last one. O(value) for each.
    ///
    ///     for try await notes in notes.queryLimited(toLast: 50).children(as: Note.self) { … }
    ///
    /// A child that cannot be decoded does not end the sequence: it is in ``DatabaseList/malformed``. A value without
    /// children does, with `typeMismatch`.
    public func children<Value: Decodable & Sendable>(as type: Value.Type) -> DatabaseEvents<DatabaseList<Value>> {
        query.events(.value, .bufferingNewest(1)) { (event) throws(DatabaseError) in
            try event.snapshot.children(as: type)
        }
    }

    /// The events of children, beginning with those that exist. No event is skipped: a reader that falls too far behind
    /// gets `slowReader` (``DatabaseOptions/waitingEventsMax``).
    public func childEvents() -> DatabaseEvents<DatabaseChildEvent> {
        let max = query.ref.database.core.options.waitingEventsMax
        return query.events(.child, .bufferingOldest(max)) { event in
            switch event.kind {
            case .added?: .added(event.snapshot, after: event.previous)
            case .moved?: .moved(event.snapshot, after: event.previous)
            case .changed?: .changed(event.snapshot, after: event.previous)
            case .removed?, nil: .removed(event.snapshot)
            }
        }
    }
}

/// An event of a child. `after` is the key of the preceding child in the query's order.
public enum DatabaseChildEvent: Sendable {
    case added(DataSnapshot, after: String?)
    case changed(DataSnapshot, after: String?)
    /// The value by which children are ordered changed. A `changed` follows.
    case moved(DataSnapshot, after: String?)
    /// The child with its last value.
    case removed(DataSnapshot)

    /// The child of the event.
    public var snapshot: DataSnapshot {
        switch self {
        case .added(let snapshot, _), .changed(let snapshot, _), .moved(let snapshot, _), .removed(let snapshot):
            snapshot
        }
    }
}

extension DatabaseQuery {
    fileprivate func events<Element>(
        _ kinds: EventKinds, _ waiting: DatabaseEvents<Element>.Waiting,
        _ transform: @escaping @Sendable (ObservedEvent) throws(DatabaseError) -> Element
    ) -> DatabaseEvents<Element> {
        DatabaseEvents(
            ref.database, waiting,
            begin: { observe(kinds, DatabaseHandle(number: $0), onCancel: $1, onEvent: $2) }, transform)
    }
}

extension DatabaseQueryable {
    /// Begins to observe. An invalid query is reported to `onCancel`, on the database's thread.
    ///
    /// - parameters:
    ///   - handle: of a loop or task, which removes the observer itself; nil for a block of the program.
    ///   - onCancel: nil if the program does not want to know; an invalid query is then logged.
    @discardableResult
    func observe(
        _ kinds: EventKinds, _ handle: DatabaseHandle? = nil, isOnce: Bool = false,
        onCancel: (@Sendable (DatabaseError) -> Void)?, onEvent: @escaping @Sendable (ObservedEvent) -> Void
    ) -> DatabaseHandle {
        let query = query
        let database = query.ref.database
        let isRemovable = handle == nil
        let handle = handle ?? DatabaseHandle(number: database.makeObserverNumber())
        let resolved = Result { () throws(DatabaseError) in try query.resolved() }
        let isPosted = database.run { [ref = query.ref, order = query.order] core in
            let observer = DatabaseCore.Observer(
                isInfo: (try? resolved.get().place.isInfo) ?? false, isOnce: isOnce, isRemovable: isRemovable,
                onEvent: { onEvent(ObservedEvent($0, at: ref, order: order)) }, onCancel: { onCancel?($0) })
            switch resolved {
            case .success(let (place, object)): core.observe(handle.number, place, object, kinds, observer)
            case .failure(let error):
                if onCancel == nil { core.options.log(.warning, "\(ref) is not observed: \(error)") }
                onCancel?(error)
            }
        }
        if !isPosted { onCancel?(.closed) }
        return handle
    }
}
