import HearthClientSession
import HearthJSONTree
import HearthWireProtocol

/// An observer of aggregates or of chosen fields of a query's children. The sync tree does not know such listeners:
/// they receive no children, or only parts of them.
struct AggregateListener {
    let path: Path
    let query: QueryObject
    let onValue: (CanonicalJSON) -> Void
    let onCancel: (DatabaseError) -> Void
    /// The last values received; nil before the first.
    var value: CanonicalJSON?
}

extension DatabaseCore {
    /// Tags of the sync tree are smaller.
    private static let aggregateTagMin: Int64 = 1 << 40

    /// - parameter id: an observer's number, with which ``removeObserver(_:)`` ends it.
    func observe(_ id: Int, _ listener: AggregateListener) {
        if isClosed { return listener.onCancel(.closed) }
        aggregates[id] = listener
        send(id, listener)
    }

    /// Sends all listens for aggregates over a new connection.
    func sendAggregates() {
        for (id, listener) in aggregates.sorted(by: { $0.key < $1.key }) { send(id, listener) }
    }

    private func send(_ id: Int, _ listener: AggregateListener) {
        guard let session = link.session else { return }
        let tag = Self.aggregateTagMin + Int64(id)
        let hash = NodeHash.hash(listener.value ?? .null)
        let request = ClientRequest.listen(listener.path, query: listener.query, tag: tag, hash: hash, since: nil)
        session.send(request) { [self] result in
            switch result {
            case .success(let response) where response.isOK:
                warn(ofMissingIndex: response, at: listener.path)
                // For an empty result the server pushes nothing.
                if aggregates[id] != nil, aggregates[id]?.value == nil { tell(.null, to: id) }
            case .success(let response) where response.isUnavailable: link.serverUnavailable()
            case .success(let response):
                aggregates[id] = nil
                listener.onCancel(DatabaseError(response.refusal).answering(listener.query))
            // The next connection will send it.
            case .failure: break
            }
        }
    }

    /// The observer was removed.
    func removeAggregates(_ id: Int) {
        guard let listener = aggregates.removeValue(forKey: id), let session = link.session else { return }
        let tag = Self.aggregateTagMin + Int64(id)
        session.send(.unlisten(listener.path, query: listener.query, tag: tag)) { _ in }
    }

    /// Passes figures or fields to their listener. False if the tag belongs to no such listener.
    func tellAggregates(_ assignments: [WireAssignment], tag: Int64?) -> Bool {
        guard let tag, tag >= Self.aggregateTagMin else { return false }
        let id = Int(tag - Self.aggregateTagMin)
        guard let listener = aggregates[id] else { return true }
        var value = listener.value ?? .null
        for assignment in assignments {
            guard let place = assignment.target.path.suffix(after: listener.path) else { continue }
            value = place.isRoot ? assignment.value : value.setting(assignment.value, at: place)
        }
        tell(value, to: id)
        return true
    }

    private func tell(_ value: CanonicalJSON, to id: Int) {
        aggregates[id]?.value = value
        aggregates[id]?.onValue(value)
    }

    func revokeAggregates(at path: Path, _ query: [UInt8]?) {
        for (id, listener) in aggregates where listener.path == path && listener.query.isNamed(by: query) {
            aggregates[id] = nil
            listener.onCancel(.permissionDenied("the listen was revoked"))
        }
    }

    func cancelAggregates(because error: DatabaseError) {
        let cancelled = aggregates.sorted { $0.key < $1.key }
        aggregates = [:]
        for (_, listener) in cancelled { listener.onCancel(error) }
    }
}
