import HearthJSONTree

extension QueryIndex {
    /// The place of a child in this index; nil if there is no such child.
    func place(of node: Node, key: Key) -> IndexPlace? {
        if node.isNull { return nil }
        let value: [UInt8] =
            switch self {
            case .key: []
            case .value: Self.encoded(node)
            case .priority: IndexValue.encoded(node.priority.map { Node($0).canonical } ?? .null)
            case .child(let path): Self.encoded(node.value(at: path))
            case .conditions(let conditions): conditions.placeValue { Self.encoded(node.value(at: $0)) }
            case .unexpired: []
            }
        return IndexPlace(value + Path.root.appending(key).encoded)
    }

    private static func encoded(_ node: Node) -> [UInt8] {
        guard let leaf = node.leaf else { return node.isNull ? IndexValue.nothing : IndexValue.object }
        return IndexValue.encoded(Node(leaf).canonical)
    }
}

extension Query {
    /// The places of the children in the query's interval, in order; the limit does not count.
    func places(in node: Node) -> [IndexPlace] {
        node.children.compactMap { child in
            index.place(of: child.node, key: child.key).flatMap { contains($0) ? $0 : nil }
        }.sorted()
    }

    /// The places of the children that the query selects, in order.
    func selectedPlaces(in node: Node) -> [IndexPlace] {
        let places = places(in: node)
        guard let limit else { return places }
        return Array(limit.side == .first ? places.prefix(limit.count) : places.suffix(limit.count))
    }

    /// The part of a value that the query selects: the whole value if it selects everything (Protocol.md 16.1).
    func select(from node: Node) -> Node {
        selectsEverything ? node : node.keeping(selectedPlaces(in: node))
    }
}

extension Node {
    /// These children alone, without the node's priority.
    func keeping(_ places: some Sequence<IndexPlace>) -> Node {
        Node(children: places.lazy.map { ($0.key, child($0.key)) })
    }
}
