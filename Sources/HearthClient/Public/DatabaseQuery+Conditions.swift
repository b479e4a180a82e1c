import HearthJSONTree
import HearthWireProtocol
import HearthClientSession

extension DatabaseQueryable {
    // MARK: Conditions

    /// The children that meet all of these conditions, and those of earlier calls.
    ///
    ///     let next = tasks.where(.child("state").isEqual(to: "open"))
    ///         .queryOrdered(by: .child("priority").descending, .child("due")).queryLimited(toFirst: 20)
    ///
    /// Such a query has no bounds. Its order is one of ``queryOrdered(byChild:)``, ``queryOrderedByKey()``,
    /// ``queryOrderedByValue()`` and ``queryOrdered(by:)``, by default that of the keys.
    public func `where`(_ conditions: DatabaseCondition...) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in query.conditions = (query.conditions ?? []) + conditions }
    }

    /// By several values. Later ones decide where earlier ones are equal; the key decides last.
    public func queryOrdered(by orders: DatabaseOrder...) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in
            if query.index != nil || query.orders != nil { throw .invalidQuery("the order is named once") }
            query.orders = orders
        }
    }

    /// After the last child of a page (``DatabasePage/next``) of the same conditions and order.
    public func queryStarting(afterCursor cursor: String) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in query.cursor = cursor }
    }

    /// Reads the children, with a cursor for the next page if the query has a limit:
    ///
    ///     var query = tasks.where(.child("state").isEqual(to: "open")).queryLimited(toFirst: 100)
    ///     var page = try await query.getPage()
    ///     while let cursor = page.next { page = try await query.queryStarting(afterCursor: cursor).getPage() }
    ///
    /// A child whose place in the order does not change is on exactly one page. A page can have fewer children than the
    /// limit and still a cursor. Always asks the server: without a connection this waits for one.
    ///
    /// - parameter fields: the paths below each child to read, none inside another; empty for the whole child.
    /// - throws: as ``getData()``; `refused` by a server that does not support queries with conditions.
    public func getPage(fields: [String] = []) async throws(DatabaseError) -> DatabasePage {
        let query = query
        if let failure = query.failure { throw failure }
        let place = try query.ref.place.get()
        let object = try query.conditionObject(fields: fields)
        let page: FoundPage = try await query.ref.database.wait { core, reply in
            core.find(place, object, isAbandoned: { reply.isSettled }) { reply.settle($0) }
        }
        let children = page.children.map { DataSnapshot(Node($0.value), at: query.ref.child($0.key)) }
        return DatabasePage(children: children, next: page.next)
    }
}

/// A page of the children that meet the conditions.
public struct DatabasePage: Sendable {
    /// In the order of the query. A child without any of the requested fields has an empty snapshot.
    public let children: [DataSnapshot]
    /// The cursor of the page after this one; nil if no child follows.
    public let next: String?
}

extension DatabaseQuery {
    /// The conditions and the order; without conditions, all children.
    func conditionQuery(fields: [String] = [], isExplained: Bool = false) throws(DatabaseError) -> ConditionQuery {
        if start != nil || end != nil { throw .invalidQuery("a query with conditions has no bounds") }
        let conditions = try (conditions ?? []).map { (part) throws(DatabaseError) in try part.condition.get() }
        var orders: [ConditionQuery.Order] = []
        switch index {
        case nil, .key: break
        case .value: orders = [ConditionQuery.Order(.root)]
        case .child(let path): orders = [ConditionQuery.Order(path)]
        case .priority, .conditions, .unexpired:
            throw .invalidQuery("a query with conditions has no order by priorities")
        }
        for order in self.orders ?? [] {
            orders.append(ConditionQuery.Order(try order.path.get(), isDescending: order.isDescending))
        }
        let fields = try fields.map { (field) throws(DatabaseError) in try DatabaseCondition.child(field).path.get() }
        return ConditionQuery(conditions, orders: orders, fields: fields, isExplained: isExplained)
    }

    /// The query as it is sent.
    func conditionObject(fields: [String] = [], isExplained: Bool = false) throws(DatabaseError) -> QueryObject {
        try object(of: try conditionQuery(fields: fields, isExplained: isExplained))
    }

    /// A query as it is sent, with the limit and the cursor of this one.
    func object(of query: ConditionQuery) throws(DatabaseError) -> QueryObject {
        if limit?.side == .last {
            throw .invalidQuery("a query with conditions has its first children: let it descend")
        }
        do throws(QueryError) {
            return try QueryObject(query, limit: limit?.count, after: cursor.map { Array($0.utf8) })
        } catch {
            throw .invalidQuery(error.description)
        }
    }
}
