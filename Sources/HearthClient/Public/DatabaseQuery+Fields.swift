import HearthClientSession
import HearthJSONTree
import HearthWireProtocol

extension DatabaseQueryable {
    /// Some fields of each selected child, then again after each commit that changes one of them.
    ///
    ///     for try await tasks in open.children(fields: "title", "due") { print(tasks.map(\.key)) }
    ///
    /// In the order of the query, with the values that it is ordered by. A child without any of them is left out. The
    /// values are the server's: this client's writes appear once the server has them. A slow reader skips changes, but
    /// never the last one.
    ///
    /// - parameter fields: paths below each child, none inside another.
    public func children(fields: String...) -> DatabaseEvents<[DataSnapshot]> {
        let query = query
        let chosen = Result { () throws(DatabaseError) in try query.fields(fields) }
        let orders = ((try? query.conditionQuery())?.orders).map {
            QueryIndex.conditions(ConditionQuery([], orders: $0))
        }
        return query.told(chosen) { [ref = query.ref] event in
            let object = event.snapshot.node.canonical
            let index = orders ?? .key
            let places = object.children.map { (index.place(of: $0, in: object), $0.value) }.sorted { $0.0 < $1.0 }
            return places.map { place, range in DataSnapshot(Node(object.part(range)), at: ref.child(place.key)) }
        }
    }
}

extension DatabaseQuery {
    /// The location, and the query as it is sent: with the values that it is ordered by.
    fileprivate func fields(_ names: [String]) throws(DatabaseError) -> (path: Path, query: QueryObject) {
        if let failure { throw failure }
        let place = try ref.place.get()
        if place.isInfo { throw .invalidQuery("locations below .info have no fields") }
        let asked = try conditionQuery(fields: names)
        if asked.fields.isEmpty { throw .invalidQuery("no fields are named") }
        if asked.orders.contains(where: \.path.isRoot) {
            throw .invalidQuery("children that are ordered by their value have no fields")
        }
        let ordering = asked.orders.map(\.path).filter { order in !asked.fields.contains { $0.contains(order) } }
        let fields = asked.fields.filter { field in !ordering.contains { $0.contains(field) } } + ordering
        return (place.path, try object(of: ConditionQuery(asked.conditions, orders: asked.orders, fields: fields)))
    }
}
