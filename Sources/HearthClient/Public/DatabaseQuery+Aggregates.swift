import HearthClientSession
import HearthJSONTree
import HearthWireProtocol

/// Figures of all children that a query selects.
///
/// The sum, the average and the extremes include only numbers. The server adds them exactly in decimal, and rounds the
/// sum to a double.
public struct DatabaseAggregates: Hashable, Sendable {
    /// The kinds of figures.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case average, count, max, min, sum
    }

    /// The number of children; nil if it was not requested.
    public let count: Int?
    /// The sum of the numbers, 0 if there are none; nil if it was not requested, or exceeds the range of a double.
    public let sum: Double?
    /// Also nil if there are no numbers, like ``min`` and ``max``.
    public let average: Double?
    /// The least number.
    public let min: Double?
    /// The greatest number.
    public let max: Double?

    init(_ value: CanonicalJSON) {
        func number(_ kind: Kind) -> Double? {
            (try? Key(validating: kind.rawValue)).flatMap { Double(value.value(at: Path([$0])).description) }
        }
        count = number(.count).flatMap { Int(exactly: $0) }
        (sum, average, min, max) = (number(.sum), number(.average), number(.min), number(.max))
    }
}

extension DatabaseQueryable {
    // MARK: Aggregates

    /// Counts the children that meet the conditions, and sums or compares the numbers at a path below each:
    ///
    ///     let open = orders.where(.child("state").isEqual(to: "open"))
    ///     let figures = try await open.getAggregates(.count, .sum, of: "total")
    ///
    /// Always asks the server: without a connection this waits for one. The server scans the children, or the entries
    /// of an index, in steps between other requests.
    ///
    /// - parameters:
    ///   - kinds: the requested figures.
    ///   - path: the path of the number in each child; nil for the children themselves.
    /// - throws: as ``getPage(fields:)``; `invalidQuery` for a query with an order, a limit or a cursor.
    public func getAggregates(
        _ kinds: DatabaseAggregates.Kind..., of path: String? = nil
    ) async throws(DatabaseError) -> DatabaseAggregates {
        let (place, object) = try query.aggregates(kinds, of: path)
        let value: CanonicalJSON = try await query.ref.database.wait { core, reply in
            core.ask(
                place, object, for: "a value", isAbandoned: { reply.isSettled }, completion: { reply.settle($0) },
                read: { try? CanonicalJSON.parse($0).value })
        }
        return DatabaseAggregates(value)
    }

    /// The present figures, then the new ones after each commit that changes them. The server keeps them up to date:
    /// the cost of a change does not depend on the number of children.
    ///
    ///     for try await figures in open.aggregates(.count) { print(figures.count ?? 0) }
    ///
    /// These are the server's figures: this client's writes count once the server has them. A slow reader skips
    /// changes, but never the last one.
    public func aggregates(
        _ kinds: DatabaseAggregates.Kind..., of path: String? = nil
    ) -> DatabaseEvents<DatabaseAggregates> {
        let query = query
        let resolved = Result { () throws(DatabaseError) in try query.aggregates(kinds, of: path) }
        return query.told(resolved) { DatabaseAggregates($0.snapshot.node.canonical) }
    }
}

extension DatabaseQuery {
    /// The values of a listener that the sync tree does not know.
    func told<Value>(
        _ resolved: Result<(path: Path, query: QueryObject), DatabaseError>,
        _ transform: @escaping @Sendable (ObservedEvent) throws(DatabaseError) -> Value
    ) -> DatabaseEvents<Value> {
        DatabaseEvents(
            ref.database, .bufferingNewest(1),
            begin: { [ref] number, onCancel, onEvent in
                let isPosted = ref.database.run { core in
                    switch resolved {
                    case .success(let (path, object)):
                        let listener = AggregateListener(
                            path: path, query: object,
                            onValue: { onEvent(ObservedEvent(snapshot: DataSnapshot(Node($0), at: ref))) },
                            onCancel: onCancel)
                        core.observe(number, listener)
                    case .failure(let error): onCancel(error)
                    }
                }
                if !isPosted { onCancel(.closed) }
            }, transform)
    }
}

extension DatabaseQuery {
    /// The location, and the query as it is sent.
    func aggregates(
        _ kinds: [DatabaseAggregates.Kind], of path: String?, isExplained: Bool = false
    ) throws(DatabaseError) -> (path: Path, query: QueryObject) {
        if let failure { throw failure }
        if kinds.isEmpty { throw .invalidQuery("no aggregates are named") }
        if index != nil || orders != nil || limit != nil || cursor != nil || start != nil || end != nil {
            throw .invalidQuery("aggregates have conditions, and no order, bounds, limit or cursor")
        }
        let place = try ref.place.get()
        if place.isInfo { throw .invalidQuery("locations below .info have no aggregates") }
        let kinds = Set(kinds.compactMap { Aggregates.Kind(rawValue: $0.rawValue) })
        var field: Path? = kinds == [.count] ? nil : .root
        if let path, field != nil { field = try DatabaseCondition.child(path).path.get() }
        let asked = ConditionQuery(
            try conditionQuery().conditions, isExplained: isExplained, aggregates: Aggregates(kinds, of: field))
        return (place.path, try object(of: asked))
    }
}
