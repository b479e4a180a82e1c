import HearthClientSession
import HearthJSONTree
import HearthWireProtocol

/// The value that a transaction changes, with its priorities. Parts that the transaction does not touch stay unchanged.
///
///     data["stock"].value = 3
///     data["by"].value = "ada"
public struct MutableData: Sendable {
    /// The last key of the location; nil for the root.
    public let key: String?
    private(set) var node: Node
    /// The same value as text once it has server values, which a node cannot hold.
    private var text: CanonicalJSON?
    /// Why this cannot be written.
    private var failure: DatabaseError?

    init(key: String?, node: Node) {
        self.key = key
        self.node = node
    }

    // MARK: The value

    /// The value without priorities; null if there is nothing. Setting it replaces all children and keeps the priority
    /// of the location. A server value that was set is read as it was set.
    public var value: DatabaseValue {
        get { text.map { DatabaseValue($0) } ?? DatabaseValue(node) }
        set { set(newValue, at: .root) }
    }

    /// Null, a number or a string.
    public var priority: DatabaseValue {
        get { node.priority.map { DatabaseValue($0) } ?? .null }
        set {
            do throws(DatabaseError) {
                let (value, hasServerValues) = try newValue.canonical()
                guard value.isPriority, !hasServerValues else {
                    throw .invalidValue("a priority is null, a number or a string")
                }
                text = text?.settingPriority(value, at: .root)
                node = node.settingPriority(Node(value).leaf, at: .root) ?? node
            } catch {
                failure = failure ?? error
            }
        }
    }

    mutating func set(_ value: DatabaseValue, at path: Path) {
        var canonical: CanonicalJSON
        let hasServerValues: Bool
        do throws(DatabaseError) { (canonical, hasServerValues) = try value.canonical() } catch {
            failure = failure ?? error
            return
        }
        let old = node.value(at: path)
        if let priority = old.priority, canonical.priority == .null {
            canonical = canonical.settingPriority(Node(priority).canonical, at: .root) ?? canonical
        }
        if hasServerValues || text != nil { text = (text ?? node.canonical).setting(canonical, at: path) }
        let estimate =
            hasServerValues
            ? canonical.resolved(timestamp: 0) { old.value(at: $0).canonical } : canonical
        node = node.setting(Node(estimate), at: path)
    }

    // MARK: Children

    /// The part at a relative path, such as `title` or `meta/by`. Setting it changes this value.
    public subscript(path: String) -> MutableData {
        get {
            var part = MutableData(key: key, node: .null)
            do throws(PathError) {
                let path = try Path(parsing: path)
                part = MutableData(key: path.lastKey?.description ?? key, node: node.value(at: path))
                part.text = text?.value(at: path)
            } catch {
                part.failure = .invalidPath("'\(path)' is not a path: \(error)")
            }
            return part
        }
        set {
            guard newValue.failure == nil, let path = try? Path(parsing: path) else {
                failure = failure ?? newValue.failure ?? .invalidPath("'\(path)' is not a path")
                return
            }
            put(newValue, at: path)
        }
    }

    /// Replaces the part at a path, its priority included.
    private mutating func put(_ part: MutableData, at path: Path) {
        if part.text != nil || text != nil {
            text = (text ?? node.canonical).setting(part.text ?? part.node.canonical, at: path)
        }
        node = node.setting(part.node, at: path)
    }

    /// A copy of the part at a relative path. To change it, assign to ``subscript(_:)``.
    public func childData(byAppendingPath path: String) -> MutableData { self[path] }

    /// How many children there are.
    public var childrenCount: Int { node.children.count }

    /// Whether there are children.
    public func hasChildren() -> Bool { !node.children.isEmpty }

    /// Whether there is a value at a relative path.
    public func hasChild(atPath path: String) -> Bool { !self[path].node.isNull }

    /// Copies of the children, in the order of their keys.
    public var children: [MutableData] {
        guard let text else { return node.children.map { MutableData(key: $0.key.description, node: $0.node) } }
        return text.children.map { child in
            var part = MutableData(key: child.key.description, node: node.child(child.key))
            part.text = text.part(child.value)
            return part
        }
    }

    // MARK: Inside

    /// The value to write at a location.
    func assignment(at path: Path) throws(DatabaseError) -> WireAssignment {
        if let failure { throw failure }
        let canonical = text ?? node.canonical
        do throws(JSONError) {
            let limits = CanonicalJSON.Limits(depth: Path.maximumDepth - path.depth)
            _ = try CanonicalJSON.parse(canonical.bytes, limits: limits)
        } catch {
            throw .invalidValue(error.description)
        }
        let assignment = WireAssignment(
            target: WriteTarget(path: path), value: canonical, hasServerValues: text != nil)
        try WriteSize.check([assignment])
        return assignment
    }

    /// Makes the changes that lead from one encoded value to another. Members in neither stay.
    mutating func merge(_ old: DatabaseValue, _ new: DatabaseValue, at path: Path = .root) throws(DatabaseError) {
        if old == new { return }
        switch (old, new) {
        case (.object(let oldMembers), .object(let newMembers)):
            for (name, value) in newMembers {
                try merge(oldMembers[name] ?? .null, value, at: path.appending(try Self.key(name)))
            }
            for name in oldMembers.keys where newMembers[name] == nil {
                set(.null, at: path.appending(try Self.key(name)))
            }
        case (.array(let oldElements), .array(let newElements)): try merge(oldElements, newElements, at: path)
        default: set(new, at: path)
        }
    }

    /// A new element that equals an old one from another index has moved from there. Any other new element is the old
    /// element at its index, changed, unless that one has moved away.
    ///
    /// A set is encoded in an order that is not the stored one, so nothing is known of its elements' places.
    private mutating func merge(_ old: [DatabaseValue], _ new: [DatabaseValue], at path: Path) throws(DatabaseError) {
        let before = node.value(at: path)
        guard DatabaseValue(before).holds(.array(old)) else { return set(.array(new), at: path) }
        func place(_ index: Int) throws(DatabaseError) -> Path { Path.root.appending(try Self.key(String(index))) }
        func isInPlace(_ index: Int) -> Bool { index < min(old.count, new.count) && old[index] == new[index] }
        var absent: [DatabaseValue: [Int]] = [:]
        for index in old.indices.reversed() where !isInPlace(index) { absent[old[index], default: []].append(index) }
        var moves: [Int: Int] = [:]
        for index in new.indices where !isInPlace(index) { moves[index] = absent[new[index]]?.popLast() }
        let moved = Set(moves.values)
        var elements = MutableData(key: nil, node: before)
        for index in 0..<max(old.count, new.count) where !isInPlace(index) {
            let target = try place(index)
            if let source = moves[index] {
                elements.put(MutableData(key: nil, node: before.value(at: try place(source))), at: target)
            } else if index < min(old.count, new.count), !moved.contains(index) {
                try elements.merge(old[index], new[index], at: target)
            } else {
                elements.put(MutableData(key: nil, node: .null), at: target)
                if index < new.count { elements.set(new[index], at: target) }
            }
        }
        failure = failure ?? elements.failure
        put(elements, at: path)
    }

    private static func key(_ name: String) throws(DatabaseError) -> Key {
        do { return try Key(validating: name) } catch { throw .invalidPath("'\(name)' is not a key: \(error)") }
    }
}

extension DatabaseValue {
    /// The value of a text, with its server values and without its priorities.
    fileprivate init(_ text: CanonicalJSON) {
        guard text.isLeaf else {
            var children: [String: DatabaseValue] = [:]
            for child in text.children { children[child.key.description] = DatabaseValue(text.part(child.value)) }
            self = children.isEmpty ? .null : .object(children)
            return
        }
        let leaf = text.part(text.leafRange)
        guard leaf.bytes.first == UInt8(ascii: "{"), let server = try? DatabaseValue(json: leaf.bytes)[".sv"] else {
            self = DatabaseValue(Node(leaf))
            return
        }
        switch server["increment"] {
        case .int(let value): self = .server(.addInteger(value))
        case .double(let value): self = .server(.add(value))
        default: self = .server(.now)
        }
    }

    /// Whether it has all elements of an encoded value, each in its place. Members can have come from defaults.
    fileprivate func holds(_ value: DatabaseValue) -> Bool {
        let stored = object ?? [:]
        return switch value {
        case .object(let members): members.allSatisfy { stored[$0.key]?.holds($0.value) ?? true }
        case .array(let all): all.enumerated().allSatisfy { (stored[String($0.offset)] ?? .null).holds($0.element) }
        default: (try? canonical().value) == (try? value.canonical().value)
        }
    }
}

/// The decision of a transaction's block.
public struct TransactionResult: Sendable {
    let data: MutableData?

    /// Write this value.
    public static func success(withValue data: MutableData) -> TransactionResult { TransactionResult(data: data) }

    /// Leave the value unchanged.
    public static func abort() -> TransactionResult { TransactionResult(data: nil) }
}

/// The outcome of a transaction.
public struct TransactionOutcome<Value: Sendable>: Sendable {
    /// Whether the block changed the value, and the server made the change.
    public let isCommitted: Bool
    /// The value that the change made, with timestamps as estimated here. Without a change it is the present value. Nil
    /// if there is none.
    public let value: Value?

    /// An outcome, for tests of code that handles one.
    public init(isCommitted: Bool, value: Value?) {
        self.isCommitted = isCommitted
        self.value = value
    }
}

extension TransactionOutcome: Equatable where Value: Equatable {}
