package import HearthJSONTree

/// A query at its most naive: children in an array, sorted by the words of Protocol.md 7.5, 16.2, filtered, cut.
package struct QueryModel: Equatable {
    package enum Index: Equatable {
        case key
        case value
        case priority
        case child([TreeModel.Text])
    }

    package enum BoundKey: Equatable {
        case lowest
        case highest
        case key(TreeModel.Text)
    }

    /// In the order of the keys, `value` is a string.
    package struct Bound: Equatable {
        package var value: TreeModel.Leaf?
        package var key: BoundKey?
        package var isInclusive: Bool
    }

    package var index: Index
    package var start: Bound?
    package var end: Bound?
    package var limit: Int?
    package var keepsLast = false

    package init(index: Index) { self.index = index }

    package typealias Child = (key: TreeModel.Text, value: TreeModel)

    /// The selected children, in index order.
    package func select(_ node: TreeModel) -> [Child] {
        let interval = self.interval(node)
        guard let limit else { return interval }
        return Array(keepsLast ? interval.suffix(limit) : interval.prefix(limit))
    }

    /// The children of the interval in index order.
    package func interval(_ node: TreeModel) -> [Child] {
        var children: [Child] = node.children.map { ($0.key, $0.value) }
        children.sort { precedes((self.value(of: $0.value), .key($0.key)), (self.value(of: $1.value), .key($1.key))) }
        return children.filter { child in
            let position = (self.value(of: child.value), BoundKey.key(child.key))
            if let start {
                let bound = self.position(start, missingKey: .lowest)
                if precedes(position, bound) || !start.isInclusive && !precedes(bound, position) { return false }
            }
            if let end {
                let bound = self.position(end, missingKey: .highest)
                if precedes(bound, position) || !end.isInclusive && !precedes(position, bound) { return false }
            }
            return true
        }
    }

    // MARK: Order

    private enum Value {
        case nothing
        case leaf(TreeModel.Leaf)
        case object
    }

    private typealias Position = (value: Value, key: BoundKey)

    private func value(of node: TreeModel) -> Value {
        func own(_ node: TreeModel) -> Value {
            if let leaf = node.leaf { return .leaf(leaf) }
            return node.isEmpty ? .nothing : .object
        }
        switch index {
        case .key: return .nothing
        case .value: return own(node)
        case .priority: return node.priority.map { .leaf($0) } ?? .nothing
        case .child(let path): return own(node.child(at: path))
        }
    }

    private func position(_ bound: Bound, missingKey: BoundKey) -> Position {
        if index == .key, case .string(let text)? = bound.value {
            switch String(decoding: text, as: UTF16.self) {
            case "[MIN_NAME]": return (.nothing, .lowest)
            case "[MAX_NAME]", "[MAX_KEY]": return (.nothing, .highest)
            default: return (.nothing, .key(text))
            }
        }
        return (bound.value.map { .leaf($0) } ?? .nothing, bound.key ?? missingKey)
    }

    private func precedes(_ a: Position, _ b: Position) -> Bool {
        let order = Self.compare(a.value, b.value)
        if order != 0 { return order < 0 }
        switch (a.key, b.key) {
        case (.lowest, .lowest), (.highest, _), (_, .lowest): return false
        case (.lowest, _), (_, .highest): return true
        case (.key(let a), .key(let b)): return TreeModel.keyPrecedes(a, b)
        }
    }

    private static func compare(_ a: Value, _ b: Value) -> Int {
        switch (a, b) {
        case (.leaf(let a), .leaf(let b)):
            if let x = number(a), let y = number(b) { return x < y ? -1 : x > y ? 1 : 0 }
            if case .string(let a) = a, case .string(let b) = b {
                return a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
            }
            return rank(.leaf(a)) - rank(.leaf(b))
        default: return rank(a) - rank(b)
        }
    }

    private static func rank(_ value: Value) -> Int {
        switch value {
        case .nothing: 0
        case .leaf(.bool(let value)): value ? 2 : 1
        case .leaf(.integer), .leaf(.double): 3
        case .leaf(.string): 4
        case .object: 5
        }
    }

    private static func number(_ leaf: TreeModel.Leaf) -> Double? {
        switch leaf {
        case .integer(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }
}

// MARK: Real queries

extension QueryModel {
    /// The same query, in the real terms.
    package func query() throws(QueryError) -> Query {
        try Query(
            index: realIndex, start: start.map(Self.real), end: end.map(Self.real),
            limit: limit.map { QueryLimit(keepsLast ? .last : .first, $0) })
    }

    package var realIndex: QueryIndex {
        switch index {
        case .key: .key
        case .value: .value
        case .priority: .priority
        case .child(let path): .child(Path(path.map(TreeModel.realKey)))
        }
    }

    private static func real(_ bound: Bound) -> QueryBound {
        let key: QueryBound.BoundKey? =
            switch bound.key {
            case nil: nil
            case .lowest?: .lowest
            case .highest?: .highest
            case .key(let text)?: .key(utf8: Array(String(decoding: text, as: UTF16.self).utf8))
            }
        let value = bound.value.map { CanonicalJSON(TreeModel.text(of: $0)) } ?? .null
        return QueryBound(value, key: key, isInclusive: bound.isInclusive)
    }

    /// The place of a child, made from its text.
    package func place(of child: Child) -> IndexPlace {
        let json = CanonicalJSON(child.value.canonicalText)
        return realIndex.place(of: json, in: json.range, segment: Path([TreeModel.realKey(child.key)]).encoded)
    }
}

extension TreeModel {
    /// `text` must be a valid key.
    package static func realKey(_ text: Text) -> Key {
        guard let key = try? Key(validating: String(decoding: text, as: UTF16.self)) else {
            preconditionFailure("\(text) is not a key")
        }
        return key
    }
}

// MARK: Random queries

extension RandomTrees {
    /// Few keys and values, so that there are ties and bounds that meet them.
    package static let indexedKeys = ["-1", "0", "1", "01", "10", " ", "-", "a", "ab", "b", "é", "😀", "\u{FFFD}"]
        .map { Array($0.utf16) }

    package mutating func indexedLeaf() -> TreeModel.Leaf {
        pick([
            .bool(false), .bool(true), .integer(-7), .double(-0.5), .integer(0), .integer(1), .integer(1),
            .integer(1 << 53), .integer(1 << 53 + 1), .double(1e300), .string([]), .string([0x61]),
            .string([0x61, 0]), .string([0x61, 1]), .string([0x61, 2]), .string([0x61, 0x62]), .string([0x22]),
            .string(Array("😀".utf16)), .string([0xFF61]),
        ])
    }

    /// A child for queries: most have something to order them by, all may have a priority.
    package mutating func indexedChild() -> TreeModel {
        var node = TreeModel()
        if chance(1, in: 2) {
            node.leaf = indexedLeaf()
        } else {
            if chance(3, in: 4) { node.set(indexedValue(), at: [Array("x".utf16)][...]) }
            if chance(1, in: 4) { node.set(indexedValue(), at: [Array("x".utf16), Array("y".utf16)][...]) }
            node.set(TreeModel(leaf: .integer(Int64.random(in: 0...9, using: &random))), at: [Array("z".utf16)][...])
        }
        node.priority = indexedPriority()
        return node
    }

    private mutating func indexedValue() -> TreeModel {
        TreeModel(leaf: indexedLeaf(), priority: chance(1, in: 4) ? indexedPriority() : nil)
    }

    private mutating func indexedPriority() -> TreeModel.Leaf? {
        pick([nil, .integer(0), .integer(1), .string([0x61]), .string([])])
    }

    package mutating func query() -> QueryModel {
        let x = Array("x".utf16)
        var query = QueryModel(index: pick([.key, .value, .priority, .child([x]), .child([x, Array("y".utf16)])]))
        if chance(1, in: 2) { query.start = bound(in: query.index) }
        if chance(1, in: 2) { query.end = bound(in: query.index) }
        if chance(2, in: 3) {
            query.limit = Int.random(in: 1...5, using: &random)
            query.keepsLast = chance(1, in: 2)
        }
        return query
    }

    private mutating func bound(in index: QueryModel.Index) -> QueryModel.Bound {
        let isInclusive = chance(1, in: 2)
        let key = chance(1, in: 4) ? Array(pick(["a!", "", "5", "zz\u{FFFF}"]).utf16) : pick(RandomTrees.indexedKeys)
        if index == .key {
            let sentinel = Array(pick(["[MIN_NAME]", "[MAX_NAME]", "[MAX_KEY]"]).utf16)
            let text = chance(1, in: 8) ? sentinel : key
            return QueryModel.Bound(value: .string(text), key: nil, isInclusive: isInclusive)
        }
        let value = chance(1, in: 8) ? nil : index == .priority ? indexedPriority() : indexedLeaf()
        let boundKey = pick([nil, nil, .lowest, .highest, .key(key), .key(key)] as [QueryModel.BoundKey?])
        return QueryModel.Bound(value: value, key: boundKey, isInclusive: isInclusive)
    }
}
