import HearthJSONTree
import HearthWireProtocol

/// What can be observed and read: a location, or what a query selects of its children.
public protocol DatabaseQueryable: Sendable {
    /// The query; of a reference the one that selects everything.
    var query: DatabaseQuery { get }
}

/// Which children of a location are wanted, and in what order.
///
///     let latest = messages.queryOrdered(byChild: "at").queryLimited(toLast: 50)
///
/// An order is named once, before bounds; bounds and one limit go together. Instead of bounds a query can have
/// conditions, and then several orders (`where(_:)`). What does not fit together is an error of
/// whatever is done with the query.
public struct DatabaseQuery: DatabaseQueryable, Hashable {
    /// The location whose children are selected.
    public let ref: DatabaseReference
    var index: QueryIndex?
    var start: QueryBound?
    var end: QueryBound?
    var limit: QueryLimit?
    /// Nil for a query that has bounds or an order of the protocol alone.
    var conditions: [DatabaseCondition]?
    var orders: [DatabaseOrder]?
    var cursor: String?
    var failure: DatabaseError?

    init(_ ref: DatabaseReference) { self.ref = ref }

    /// This query.
    public var query: DatabaseQuery { self }

    /// Whether it has what only queries with conditions have (Protocol.md 18.3).
    var hasConditions: Bool { conditions != nil || orders != nil || cursor != nil }

    /// Whether it is all that there is at the location, in no order of its own.
    var isWhole: Bool { limit == nil && index == nil && start == nil && end == nil && !hasConditions }

    /// The order in which children are told.
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
            guard let path = try? Path(parsing: path), !path.isRoot else {
                throw .invalidQuery("'\(path)' is no path below a child")
            }
            try query.order(by: .child(path))
        }
    }

    /// By the children's keys. Bounds are keys then, as strings.
    public func queryOrderedByKey() -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in try query.order(by: .key) }
    }

    /// By the children's own values.
    public func queryOrderedByValue() -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in try query.order(by: .value) }
    }

    /// What is the order of everything that names none.
    public func queryOrderedByPriority() -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in try query.order(by: .priority) }
    }

    // MARK: Bounds

    /// From a value on; with a key, of those that have the value the ones from that key on.
    public func queryStarting(atValue value: DatabaseValue, childKey: String? = nil) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in
            try query.start(try DatabaseQuery.bound(value, childKey.map(QueryBound.BoundKey.init(text:))))
        }
    }

    /// After a value; with a key, also of those that have the value the ones after that key.
    public func queryStarting(afterValue value: DatabaseValue, childKey: String? = nil) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in
            let key = childKey.map(QueryBound.BoundKey.init(text:)) ?? .highest
            try query.start(try DatabaseQuery.bound(value, key, isInclusive: false))
        }
    }

    /// Up to a value.
    public func queryEnding(atValue value: DatabaseValue, childKey: String? = nil) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in
            try query.end(try DatabaseQuery.bound(value, childKey.map(QueryBound.BoundKey.init(text:))))
        }
    }

    /// Before a value.
    public func queryEnding(beforeValue value: DatabaseValue, childKey: String? = nil) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in
            let key = childKey.map(QueryBound.BoundKey.init(text:)) ?? .lowest
            try query.end(try DatabaseQuery.bound(value, key, isInclusive: false))
        }
    }

    /// Those with one value; with a key, that child if it has it.
    public func queryEqual(toValue value: DatabaseValue, childKey: String? = nil) -> DatabaseQuery {
        queryStarting(atValue: value, childKey: childKey).queryEnding(atValue: value, childKey: childKey)
    }

    // MARK: Limits

    /// The first so many, at least one.
    public func queryLimited(toFirst count: Int) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in try query.limit(.first, count) }
    }

    /// The last so many, at least one.
    public func queryLimited(toLast count: Int) -> DatabaseQuery {
        query.changed { (query) throws(DatabaseError) in try query.limit(.last, count) }
    }
}

// The same with values of other types.
extension DatabaseQueryable {
    /// Children whose value is at least this one; with a key, of those with this value the ones from that key on.
    public func queryStarting(atValue value: some DatabaseValueConvertible, childKey: String? = nil) -> DatabaseQuery {
        converting(value) { queryStarting(atValue: $0, childKey: childKey) }
    }

    /// Children whose value is greater than this one; with a key, also those with this value after that key.
    public func queryStarting(
        afterValue value: some DatabaseValueConvertible, childKey: String? = nil
    ) -> DatabaseQuery {
        converting(value) { queryStarting(afterValue: $0, childKey: childKey) }
    }

    /// Children whose value is at most this one; with a key, of those with this value the ones up to that key.
    public func queryEnding(atValue value: some DatabaseValueConvertible, childKey: String? = nil) -> DatabaseQuery {
        converting(value) { queryEnding(atValue: $0, childKey: childKey) }
    }

    /// Children whose value is less than this one; with a key, also those with this value before that key.
    public func queryEnding(
        beforeValue value: some DatabaseValueConvertible, childKey: String? = nil
    ) -> DatabaseQuery {
        converting(value) { queryEnding(beforeValue: $0, childKey: childKey) }
    }

    /// Children with this value; with a key, that child if it has it.
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
