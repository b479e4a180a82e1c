import HearthJSONTree
import HearthWireProtocol

/// A source that can be observed and read: a location, or the children that a query selects.
public protocol DatabaseQueryable: Sendable {
    /// The query; for a reference, the one that selects everything.
    var query: DatabaseQuery { get }
}

/// A selection of a location's children, in an order.
///
///     let latest = messages.queryOrdered(byChild: "at").queryLimited(toLast: 50)
///
/// Set the order once, before bounds. Bounds can be combined with one limit. Instead of bounds a query can have
/// conditions, and then several orders (`where(_:)`). With an invalid combination, every operation on the query fails
/// with an error.
public struct DatabaseQuery: DatabaseQueryable, Hashable {
    /// The location whose children are selected.
    public let ref: DatabaseReference
    var index: QueryIndex?
    var start: QueryBound?
    var end: QueryBound?
    var limit: QueryLimit?
    /// Nil for a query with only bounds or an order of the protocol.
    var conditions: [DatabaseCondition]?
    var orders: [DatabaseOrder]?
    var cursor: String?
    var failure: DatabaseError?

    init(_ ref: DatabaseReference) { self.ref = ref }

    /// This query.
    public var query: DatabaseQuery { self }

    /// Whether it uses features of queries with conditions (Protocol.md 18.3).
    var hasConditions: Bool { conditions != nil || orders != nil || cursor != nil }

    /// Whether it selects the whole location, without an order of its own.
    var isWhole: Bool { limit == nil && index == nil && start == nil && end == nil && !hasConditions }

    /// The order of the children.
    var order: QueryIndex {
        guard hasConditions else { return index ?? .priority }
        return (try? conditionQuery()).map { .conditions($0) } ?? .key
    }

    /// The location and the query as they are sent.
    func resolved() throws(DatabaseError) -> (place: DatabasePlace, query: QueryObject) {
        if let failure { throw failure }
        let place = try ref.place.get()
        if hasConditions { return (place, try conditionObject()) }
        do throws(QueryError) {
            return (place, try QueryObject(index: order, start: start, end: end, limit: limit))
        } catch {
            throw .invalidQuery(error.description)
        }
    }

    func changed(_ change: (inout DatabaseQuery) throws(DatabaseError) -> Void) -> DatabaseQuery {
        var query = self
        do throws(DatabaseError) { try change(&query) } catch { query.failure = query.failure ?? error }
        return query
    }

    fileprivate static func bound(
        _ value: DatabaseValue, _ key: QueryBound.BoundKey?, isInclusive: Bool = true
    ) throws(DatabaseError) -> QueryBound {
        let (value, hasServerValues) = try value.canonical()
        if hasServerValues { throw .invalidQuery("a bound is a value that is known") }
        return QueryBound(value, key: key, isInclusive: isInclusive)
    }

    fileprivate mutating func order(by index: QueryIndex) throws(DatabaseError) {
        if self.index != nil || orders != nil || start != nil || end != nil {
            throw .invalidQuery("the order is named once, before bounds")
        }
        self.index = index
    }

    fileprivate mutating func start(_ bound: QueryBound) throws(DatabaseError) {
        if start != nil { throw .invalidQuery("the query has two starts") }
        start = bound
    }

    fileprivate mutating func end(_ bound: QueryBound) throws(DatabaseError) {
        if end != nil { throw .invalidQuery("the query has two ends") }
        end = bound
    }

    fileprivate mutating func limit(_ side: QueryLimit.Side, _ count: Int) throws(DatabaseError) {
        if limit != nil { throw .invalidQuery("the query has two limits") }
        limit = QueryLimit(side, count)
    }
}

extension DatabaseReference: DatabaseQueryable {
    /// The query that selects everything here.
    public var query: DatabaseQuery { DatabaseQuery(self) }
}

extension DatabaseQueryable {
    // MARK: Order

    /// By the value at a path below each child.
    public func queryOrdered(byChild path: String) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in
            try query.order(by: .child(try DatabaseCondition.child(path).path.get()))
        }
    }

    /// By the children's keys. Bounds are then keys, as strings.
    public func queryOrderedByKey() -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in try query.order(by: .key) }
    }

    /// By the children's own values.
    public func queryOrderedByValue() -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in try query.order(by: .value) }
    }

    /// By the children's priorities, the default order.
    public func queryOrderedByPriority() -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in try query.order(by: .priority) }
    }

    // MARK: Bounds

    /// Children whose value is at least `value`. With a key, children with exactly this value are included only from
    /// that key on.
    public func queryStarting(atValue value: DatabaseValue, childKey: String? = nil) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in
            try query.start(try DatabaseQuery.bound(value, childKey.map(QueryBound.BoundKey.init(text:))))
        }
    }

    /// Children whose value is greater than `value`. With a key, also children with exactly this value after that key.
    public func queryStarting(afterValue value: DatabaseValue, childKey: String? = nil) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in
            let key = childKey.map(QueryBound.BoundKey.init(text:)) ?? .highest
            try query.start(try DatabaseQuery.bound(value, key, isInclusive: false))
        }
    }

    /// Children whose value is at most `value`. With a key, children with exactly this value are included only up to
    /// that key.
    public func queryEnding(atValue value: DatabaseValue, childKey: String? = nil) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in
            try query.end(try DatabaseQuery.bound(value, childKey.map(QueryBound.BoundKey.init(text:))))
        }
    }

    /// Children whose value is less than `value`. With a key, also children with exactly this value before that key.
    public func queryEnding(beforeValue value: DatabaseValue, childKey: String? = nil) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in
            let key = childKey.map(QueryBound.BoundKey.init(text:)) ?? .lowest
            try query.end(try DatabaseQuery.bound(value, key, isInclusive: false))
        }
    }

    /// Children with exactly this value. With a key, only the child with that key, if it has this value.
    public func queryEqual(toValue value: DatabaseValue, childKey: String? = nil) -> DatabaseQuery {
        queryStarting(atValue: value, childKey: childKey).queryEnding(atValue: value, childKey: childKey)
    }

    // MARK: Limits

    /// The first children, at most this many; at least 1.
    public func queryLimited(toFirst count: Int) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in try query.limit(.first, count) }
    }

    /// The last children, at most this many; at least 1.
    public func queryLimited(toLast count: Int) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in try query.limit(.last, count) }
    }
}

// Bounds of other types.
extension DatabaseQueryable {
    /// Children whose value is at least this one. With a key, children with exactly this value are included only from
    /// that key on.
    public func queryStarting(atValue value: some DatabaseValueConvertible, childKey: String? = nil) -> DatabaseQuery {
        converting(value) { queryStarting(atValue: $0, childKey: childKey) }
    }

    /// Children whose value is greater than this one. With a key, also children with exactly this value after that key.
    public func queryStarting(
        afterValue value: some DatabaseValueConvertible, childKey: String? = nil
    ) -> DatabaseQuery {
        converting(value) { queryStarting(afterValue: $0, childKey: childKey) }
    }

    /// Children whose value is at most this one. With a key, children with exactly this value are included only up to
    /// that key.
    public func queryEnding(atValue value: some DatabaseValueConvertible, childKey: String? = nil) -> DatabaseQuery {
        converting(value) { queryEnding(atValue: $0, childKey: childKey) }
    }

    /// Children whose value is less than this one. With a key, also children with exactly this value before that key.
    public func queryEnding(
        beforeValue value: some DatabaseValueConvertible, childKey: String? = nil
    ) -> DatabaseQuery {
        converting(value) { queryEnding(beforeValue: $0, childKey: childKey) }
    }

    /// Children with exactly this value. With a key, only the child with that key, if it has this value.
    public func queryEqual(toValue value: some DatabaseValueConvertible, childKey: String? = nil) -> DatabaseQuery {
        converting(value) { queryEqual(toValue: $0, childKey: childKey) }
    }

    private func converting(
        _ value: some DatabaseValueConvertible, _ select: (DatabaseValue) -> DatabaseQuery
    ) -> DatabaseQuery {
        do throws(DatabaseError) { return select(try value.databaseValue) } catch {
            return query.changed { (query) throws(DatabaseError) in throw .invalidQuery("\(error)") }
        }
    }
}

extension QueryBound.BoundKey {
    fileprivate init(text: String) { self = .key(utf8: Array(text.utf8)) }
}
