import HearthJSONTree

/// The value at a location at one moment. It is immutable and may be passed to any task.
///
/// Reading a part costs one search per level and copies nothing.
public struct DataSnapshot: Sendable {
    /// The location of the value.
    public let ref: DatabaseReference
    let node: Node
    /// The order of the children.
    let index: QueryIndex

    init(_ node: Node, at ref: DatabaseReference, index: QueryIndex = .priority) {
        self.ref = ref
        self.node = node
        self.index = index
    }

    /// The last key of the location; nil for the root.
    public var key: String? { ref.key }

    /// Whether there is a value.
    public func exists() -> Bool { !node.isNull }

    /// The whole value, without priorities; O(value). Null if there is nothing.
    public var value: DatabaseValue { DatabaseValue(node) }

    /// The whole value with its priorities: objects have a key `.priority`, leaves become objects with `.value`.
    public var exportValue: DatabaseValue { DatabaseValue(node, withPriorities: true) }

    /// The same as ``exportValue``, under the name in Firebase's SDK.
    public func valueInExportFormat() -> DatabaseValue { exportValue }

    /// Null, a number or a string.
    public var priority: DatabaseValue { node.priority.map { DatabaseValue($0) } ?? .null }

    /// How many children there are; O(1).
    public var childrenCount: Int { node.children.count }

    /// Whether there are children.
    public func hasChildren() -> Bool { !node.children.isEmpty }

    /// Whether there is a value at a relative path.
    public func hasChild(_ path: String) -> Bool { childSnapshot(forPath: path).exists() }

    /// The part at a relative path. Empty if the path is invalid.
    public func childSnapshot(forPath path: String) -> DataSnapshot {
        let child = ref.child(path)
        let relative = try? Path(parsing: path)
        return DataSnapshot(relative.map { node.value(at: $0) } ?? .null, at: child)
    }

    /// The part at a relative path, such as `title` or `meta/by`. Empty if the path is invalid.
    public subscript(path: String) -> DataSnapshot { childSnapshot(forPath: path) }

    // MARK: Leaves

    /// The value itself; null if it has children or does not exist. O(1), like the four properties below.
    private var leaf: DatabaseValue { node.leaf.map { DatabaseValue($0) } ?? .null }

    /// Nil if it is not a string.
    public var string: String? { leaf.string }
    /// Nil if it is not a whole number.
    public var int: Int? { leaf.int }
    /// Nil if it is not a number.
    public var double: Double? { leaf.double }
    /// Nil if it is not a boolean.
    public var bool: Bool? { leaf.bool }

    // MARK: Children

    private var ordered: [(key: Key, node: Node)] {
        let children = node.children.map { (key: $0.key, node: $0.node) }
        let isInKeyOrder = index == .key || index == .priority && children.allSatisfy { $0.node.priority == nil }
        if isInKeyOrder { return children }
        let places = children.map { (index.place(of: $0.node, key: $0.key), $0) }
        return places.sorted { a, b in
            guard let a = a.0, let b = b.0 else { return false }
            return a < b
        }.map(\.1)
    }

    /// The children, in the order of the query. The children of a part of the snapshot are in the order of their
    /// priorities, as without a query. O(children), more if they are not in the order of their keys.
    public var children: [DataSnapshot] { ordered.map { DataSnapshot($0.node, at: ref.child($0.key)) } }

    /// The children, decoded, in the order of ``children``; empty if there is no value. O(value).
    ///
    ///     for note in try snapshot.children(as: Note.self) { print(note.id, note.value.text) }
    ///
    /// Children that cannot be decoded are in ``DatabaseList/malformed``.
    ///
    /// - throws: `typeMismatch` for a value that has no children.
    public func children<Value: Decodable>(as type: Value.Type) throws(DatabaseError) -> DatabaseList<Value> {
        if node.leaf != nil { throw .typeMismatch("children were expected") }
        var list = DatabaseList<Value>()
        for (key, node) in ordered {
            let key = key.description
            do throws(DatabaseError) {
                list.append(DatabaseChild(id: key, value: try decoder.decode(type, from: node, at: key)))
            } catch {
                list.append(MalformedChild(id: key, error: error))
            }
        }
        return list
    }

    private var decoder: DatabaseDecoder { ref.database.core.options.decoder }

    /// Decodes the value.
    ///
    /// - throws: `typeMismatch`.
    public func data<Value: Decodable>(as type: Value.Type) throws(DatabaseError) -> Value {
        try decoder.decode(type, from: node)
    }
}

extension DataSnapshot: CustomStringConvertible {
    /// Key and value, for people to read.
    public var description: String { "\(key ?? "/"): \(node.canonical)" }
}

extension DataSnapshot: Equatable, Identifiable {
    /// Whether both are of the same location and have the same value, priorities included. O(value), O(1) if they share
    /// it.
    public static func == (a: DataSnapshot, b: DataSnapshot) -> Bool { a.ref == b.ref && a.node == b.node }

    /// The location, which identifies a child in a list.
    public var id: DatabaseReference { ref }
}
