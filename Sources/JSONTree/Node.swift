/// A scalar of the tree (Protocol.md 7.1).
package enum Leaf: Hashable, Sendable {
    case bool(Bool)
    case integer(Int64)
    /// Finite, and not a whole number that fits 64 bits: that is an `integer`.
    case double(Double)
    /// UTF-8; an unpaired surrogate is kept as its three bytes (ED A0…BF xx).
    case string([UInt8])

    /// Nil for a number that is not finite.
    package init?(number: Double) {
        guard number.isFinite else { return nil }
        self.init(JSONNumber(number))
    }

    init(_ number: JSONNumber) {
        switch number {
        case .integer(let value): self = .integer(value)
        case .double(let value): self = .double(value)
        }
    }

    /// `text` is a canonical scalar.
    package init(canonical text: UnsafeRawBufferPointer) {
        switch text.first {
        case UInt8(ascii: "t"): self = .bool(true)
        case UInt8(ascii: "f"): self = .bool(false)
        case UInt8(ascii: "\""):
            var utf8: [UInt8] = []
            JSONText.appendUnescaped(text.part(1..<max(1, text.count - 1)), to: &utf8)
            self = .string(utf8)
        default: self.init(JSONNumber(canonical: text))
        }
    }

    func appendText(to out: inout [UInt8]) {
        switch self {
        case .bool(let value): out.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): JSONNumber.integer(value).appendText(to: &out)
        case .double(let value): JSONNumber.double(value).appendText(to: &out)
        case .string(let utf8): JSONText.appendQuoted(utf8, to: &out)
        }
    }
}

/// A value of the tree, decoded: immutable, with its children sorted. For work on many parts of a value; values that
/// are only stored and passed on stay `CanonicalJSON`.
///
/// A node is nothing, a leaf, or has children; children are never nothing, and nothing has no priority. Looking up a
/// child and changing it cost O(log n) of the children of each node on the way to it.
package struct Node: Hashable, Sendable {
    package struct Child: Hashable, Sendable {
        package let key: Key
        package let node: Node
    }

    private enum Content: Hashable {
        case nothing
        case leaf(Leaf)
        /// Invariant: not empty, none is nothing.
        case children(Children)
    }

    private var content: Content
    /// A number or a string. Invariant: nil if there is no content.
    package private(set) var priority: Leaf?

    private init(_ content: Content, priority: Leaf?) {
        self.content = content
        self.priority = priority
    }

    package static let null = Node(.nothing, priority: nil)

    package init(_ leaf: Leaf, priority: Leaf? = nil) { self.init(.leaf(leaf), priority: priority) }

    /// Children in any order; of equal keys the last one counts, those that are nothing do not.
    package init(children: some Sequence<(key: Key, node: Node)>, priority: Leaf? = nil) {
        var last: [Key: Node] = [:]
        for (key, node) in children { last[key] = node }
        let sorted = last.filter { !$0.value.isNull }.sorted { $0.key < $1.key }.map {
            Child(key: $0.key, node: $0.value)
        }
        self = sorted.isEmpty ? .null : Node(.children(Children(sorted: sorted)), priority: priority)
    }

    package var isNull: Bool { content == .nothing }

    /// Nil for nothing and for a node with children.
    package var leaf: Leaf? {
        if case .leaf(let leaf) = content { leaf } else { nil }
    }

    /// In key order.
    package var children: Children {
        if case .children(let children) = content { children } else { Children() }
    }
}

// MARK: Reading and changing

extension Node {
    /// The child with a key, or nothing.
    package func child(_ key: Key) -> Node {
        if case .children(let children) = content { children.child(key) ?? .null } else { .null }
    }

    package func value(at path: Path) -> Node {
        var node = self
        for key in path.keys { node = node.child(key) }
        return node
    }

    /// This node with another one, including its priority, at the relative path (Protocol.md 4.5).
    package func setting(_ node: Node, at path: Path) -> Node {
        guard let key = path.firstKey, let rest = path.suffix(after: Path.root.appending(key)) else { return node }
        return setting(child(key).setting(node, at: rest), for: key)
    }

    /// This node with another priority at the relative path, or nil if nothing is there.
    package func settingPriority(_ priority: Leaf?, at path: Path) -> Node? {
        var node = value(at: path)
        if node.isNull { return nil }
        node.priority = priority
        return setting(node, at: path)
    }

    private func setting(_ node: Node, for key: Key) -> Node {
        var children = children
        if node.isNull {
            // Nothing below a leaf: the leaf stays.
            guard children.remove(key) else { return self }
            return children.isEmpty ? .null : Node(.children(children), priority: priority)
        }
        children.set(Child(key: key, node: node))
        return Node(.children(children), priority: priority)
    }
}

// MARK: Text

extension Node {
    /// Decodes a value without server values.
    package init(_ json: CanonicalJSON) {
        self = json.bytes.withUnsafeBytes { Node($0, 0..<$0.count) }
    }

    private init(_ text: UnsafeRawBufferPointer, _ range: Range<Int>) {
        let shape = CanonicalShape(text, range)
        let priority = shape.priority.map { Leaf(canonical: text.part($0)) }
        switch shape.kind {
        case .nothing: self = .null
        case .leaf: self.init(Leaf(canonical: text.part(shape.content)), priority: priority)
        case .inner:
            let children = CanonicalMembers(text, shape).map { member in
                Child(key: Key(trusted: member.withKey(text) { [UInt8]($0) }), node: Node(text, member.value))
            }
            self = children.isEmpty ? .null : Node(.children(Children(sorted: children)), priority: priority)
        }
    }

    package var canonical: CanonicalJSON {
        if isNull { return .null }
        var bytes: [UInt8] = []
        appendText(to: &bytes)
        return CanonicalJSON(trusted: bytes)
    }

    private func appendText(to out: inout [UInt8]) {
        let leaf = leaf
        if let leaf, priority == nil { return leaf.appendText(to: &out) }
        out.append(UInt8(ascii: "{"))
        if let priority {
            out.append(contentsOf: "\".priority\":".utf8)
            priority.appendText(to: &out)
        }
        if let leaf {
            out.append(contentsOf: ",\".value\":".utf8)
            leaf.appendText(to: &out)
        }
        for (index, child) in children.enumerated() {
            if index > 0 || priority != nil { out.append(UInt8(ascii: ",")) }
            JSONText.appendQuoted(child.key.utf8, to: &out)
            out.append(UInt8(ascii: ":"))
            child.node.appendText(to: &out)
        }
        out.append(UInt8(ascii: "}"))
    }
}
