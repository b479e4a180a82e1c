/// A child of a location with its decoded value. Members of the value are also members of the child: `note.text` is
/// `note.value.text`.
@dynamicMemberLookup
public struct DatabaseChild<Value>: Identifiable {
    /// The key.
    public let id: String
    /// The decoded value.
    public let value: Value

    /// A child, for tests and previews.
    public init(id: String, value: Value) {
        self.id = id
        self.value = value
    }

    /// A member of the value.
    public subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> Member { value[keyPath: member] }
}

extension DatabaseChild: Sendable where Value: Sendable {}
extension DatabaseChild: Equatable where Value: Equatable {}
extension DatabaseChild: Hashable where Value: Hashable {}

/// A child whose value cannot be decoded as the requested type.
public struct MalformedChild: Identifiable, Hashable, Sendable {
    /// The key.
    public let id: String
    /// A `typeMismatch` that names the member.
    public let error: DatabaseError
}

/// The decoded children of a location, in their order. Children that could not be decoded are kept separately, so that
/// one malformed child does not hide the others.
public struct DatabaseList<Value>: RandomAccessCollection {
    private var children: [DatabaseChild<Value>] = []
    /// The children that could not be decoded, in their order.
    public private(set) var malformed: [MalformedChild] = []

    init() {}

    mutating func append(_ child: DatabaseChild<Value>) { children.append(child) }
    mutating func append(_ child: MalformedChild) { malformed.append(child) }

    /// The keys and values of the children that could be decoded.
    public var startIndex: Int { children.startIndex }
    /// The position after the last child.
    public var endIndex: Int { children.endIndex }
    /// The child at a position.
    public subscript(position: Int) -> DatabaseChild<Value> { children[position] }
    /// The value of the child with a key; nil if there is no such child. O(children).
    public subscript(id: String) -> Value? { children.first { $0.id == id }?.value }
}

extension DatabaseList: Sendable where Value: Sendable {}
extension DatabaseList: Equatable where Value: Equatable {}
