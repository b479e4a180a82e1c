import HearthJSONTree

/// A condition that a query applies to each child.
///
///     let urgent = tasks.where(.child("state").isEqual(to: "open"), .child("priority").isAtLeast(2))
///     let mine = tasks.where(.child("owner").isEqual(to: "ann") || .child("helpers").has("ann"))
///
/// Values compare as in the order of ``DatabaseQueryable/queryOrdered(byChild:)``. A comparison holds for values of one
/// type: Booleans, numbers or strings.
public struct DatabaseCondition: Hashable, Sendable {
    let condition: Result<Condition, DatabaseError>

    /// The value at a path below each child.
    public static func child(_ path: String) -> Field {
        guard let parsed = try? Path(parsing: path), !parsed.isRoot else {
            return Field(path: .failure(.invalidQuery("'\(path)' is not a path below a child")))
        }
        return Field(path: .success(parsed))
    }

    /// The value of each child itself.
    public static var value: Field { Field(path: .success(.root)) }

    /// All of them hold.
    public static func all(_ conditions: [DatabaseCondition]) -> DatabaseCondition { list(conditions) { .all($0) } }

    /// At least one of them holds.
    public static func any(_ conditions: [DatabaseCondition]) -> DatabaseCondition { list(conditions) { .any($0) } }

    /// Both hold.
    public static func && (a: DatabaseCondition, b: DatabaseCondition) -> DatabaseCondition { all([a, b]) }

    /// At least one of the two holds.
    public static func || (a: DatabaseCondition, b: DatabaseCondition) -> DatabaseCondition { any([a, b]) }

    private static func list(
        _ conditions: [DatabaseCondition], _ make: ([Condition]) -> Condition
    ) -> DatabaseCondition {
        DatabaseCondition(
            condition: Result { () throws(DatabaseError) in
                if conditions.isEmpty { throw .invalidQuery("a list of conditions is empty") }
                return make(try conditions.map { (part) throws(DatabaseError) in try part.condition.get() })
            })
    }

    /// The subject of a condition.
    public struct Field: Hashable, Sendable {
        let path: Result<Path, DatabaseError>

        /// It equals this value. With `DatabaseValue.null`: it does not exist.
        public func isEqual(to value: some DatabaseValueConvertible) -> DatabaseCondition { compare(.equal, value) }

        /// It is a Boolean, number or string other than this one. With `DatabaseValue.null`: it exists.
        public func isNotEqual(to value: some DatabaseValueConvertible) -> DatabaseCondition {
            compare(.notEqual, value)
        }

        /// It is less.
        public func isLess(than value: some DatabaseValueConvertible) -> DatabaseCondition { compare(.less, value) }

        /// It is less or equal.
        public func isAtMost(_ value: some DatabaseValueConvertible) -> DatabaseCondition {
            compare(.notGreater, value)
        }

        /// It is greater.
        public func isGreater(than value: some DatabaseValueConvertible) -> DatabaseCondition {
            compare(.greater, value)
        }

        /// It is greater or equal.
        public func isAtLeast(_ value: some DatabaseValueConvertible) -> DatabaseCondition { compare(.notLess, value) }

        /// It exists.
        public var exists: DatabaseCondition { isNotEqual(to: DatabaseValue.null) }

        /// It is one of 1 to 100 values.
        public func isIn(_ values: [some DatabaseValueConvertible]) -> DatabaseCondition {
            list(values) { .isIn($0, $1) }
        }

        /// It is a Boolean, number or string other than these 1 to 100 values.
        public func isNotIn(_ values: [some DatabaseValueConvertible]) -> DatabaseCondition {
            list(values) { .isNotIn($0, $1) }
        }

        /// It has a child with this key, such as a member of a set that is stored as `{"ann": true}`.
        public func has(_ key: String) -> DatabaseCondition {
            make { (path) throws(DatabaseError) in
                guard let child = try? Path(parsing: key), child.depth == 1 else {
                    throw .invalidQuery("'\(key)' is not a key")
                }
                return .compare(path.appending(child), .notEqual, .null)
            }
        }

        /// It is a string that starts with this one.
        public func starts(with prefix: String) -> DatabaseCondition {
            make { (path) throws(DatabaseError) in .starts(path, try Field.leaf(prefix)) }
        }

        private func compare(
            _ comparison: Condition.Comparison, _ value: some DatabaseValueConvertible
        ) -> DatabaseCondition {
            make { (path) throws(DatabaseError) in .compare(path, comparison, try Field.leaf(value)) }
        }

        private func list(
            _ values: [some DatabaseValueConvertible], _ condition: (Path, [CanonicalJSON]) -> Condition
        ) -> DatabaseCondition {
            make { (path) throws(DatabaseError) in
                condition(path, try values.map { (value) throws(DatabaseError) in try Field.leaf(value) })
            }
        }

        private func make(_ condition: (Path) throws(DatabaseError) -> Condition) -> DatabaseCondition {
            DatabaseCondition(
                condition: Result { () throws(DatabaseError) in try condition(try path.get()) })
        }

        private static func leaf(_ value: some DatabaseValueConvertible) throws(DatabaseError) -> CanonicalJSON {
            let (value, hasServerValues) = try value.databaseValue.canonical()
            if hasServerValues { throw .invalidQuery("a value to compare with is one that is known") }
            return value
        }
    }
}

/// A value that children are ordered by, ascending unless it says otherwise.
public struct DatabaseOrder: Hashable, Sendable {
    let path: Result<Path, DatabaseError>
    let isDescending: Bool

    /// By the value at a path below each child. A child without one comes first.
    public static func child(_ path: String) -> DatabaseOrder {
        DatabaseOrder(path: DatabaseCondition.child(path).path, isDescending: false)
    }

    /// By the children's own values.
    public static var value: DatabaseOrder { DatabaseOrder(path: .success(.root), isDescending: false) }

    /// The same order, reversed.
    public var descending: DatabaseOrder { DatabaseOrder(path: path, isDescending: !isDescending) }
}
