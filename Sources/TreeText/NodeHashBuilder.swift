import HearthBytes
package import HearthJSONTree

/// Computes the hash of a node (``NodeHash``) that is too large to be in memory, from its parts in tree order.
///
///     var builder = NodeHashBuilder()
///     builder.beginObject(nil)
///     builder.value(a, text)
///     builder.endObject()
///     let hash = builder.finish()
///
/// Keys are encoded segments of a path, nil for the node itself. Children without a priority are hashed as they come,
/// because they come first in priority order too; only the hashes of children with a priority are kept, to be sorted
/// when their parent ends.
package struct NodeHashBuilder {
    fileprivate struct Child {
        var key: [UInt8]
        var priority: CanonicalJSON
        var hash: [UInt8]
    }

    private struct Open {
        var key: [UInt8]
        var priority = CanonicalJSON.null
        var sha = SHA1()
        var withPriority: [Child] = []
        /// Some child has none.
        var hasPlainChildren = false
    }

    private let variant: NodeHash.Variant
    private var open: [Open] = []
    private var result: [UInt8] = []
    /// The variants that give another hash, known at the end.
    package private(set) var wrongVariants: Set<NodeHash.Variant> = []

    package init(variant: NodeHash.Variant = .standard) { self.variant = variant }

    package mutating func beginObject(_ key: UnsafeRawBufferPointer?) {
        open.append(Open(key: key.map { [UInt8]($0) } ?? []))
    }

    /// The priority of the object that has just begun.
    package mutating func priority(_ priority: CanonicalJSON) {
        guard !open.isEmpty else { return }
        open[open.count - 1].priority = priority
        priority.bytes.withUnsafeBytes { text in
            var hasher = NodeHasher(text: text, variant: variant)
            hasher.updatePriority(0..<text.count, &open[open.count - 1].sha)
            wrongVariants.formUnion(hasher.wrongVariants)
        }
    }

    /// A child as a whole, or the node itself.
    package mutating func value(_ key: UnsafeRawBufferPointer?, _ value: CanonicalJSON) {
        let hash = value.bytes.withUnsafeBytes { text in
            var hasher = NodeHasher(text: text, variant: variant)
            defer { wrongVariants.formUnion(hasher.wrongVariants) }
            return hasher.hash(0..<text.count)
        }
        add(Child(key: key.map { [UInt8]($0) } ?? [], priority: value.priority, hash: hash))
    }

    package mutating func endObject() {
        guard var object = open.popLast() else { return }
        let children = object.withPriority
        var order = children.indices.sorted { a, b in
            let result = ValueOrder.compare(children[a].priority, children[b].priority)
            return result != 0 ? result < 0 : a < b
        }
        if !object.hasPlainChildren, order != Array(children.indices) {
            wrongVariants.insert(.appleOrder)
            if variant == .appleOrder { order = Array(children.indices) }
        }
        for index in order { object.sha.update(children[index]) }
        add(Child(key: object.key, priority: object.priority, hash: object.sha.finishAsText()))
    }

    /// Empty if there was nothing.
    package func finish() -> [UInt8] { result }

    private mutating func add(_ child: Child) {
        if open.isEmpty {
            result = child.hash
        } else if child.priority.isNull {
            open[open.count - 1].sha.update(child)
            open[open.count - 1].hasPlainChildren = true
        } else {
            open[open.count - 1].withPriority.append(child)
        }
    }
}

extension SHA1 {
    fileprivate mutating func update(_ child: NodeHashBuilder.Child) {
        update(":")
        child.key.withUnsafeBytes { key in Segment.withKey(of: key) { update($0) } }
        update(":")
        child.hash.withUnsafeBytes { update($0) }
    }
}
