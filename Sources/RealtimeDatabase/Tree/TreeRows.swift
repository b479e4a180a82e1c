package import HearthJSONTree
package import HearthStorageErrors

/// The tree of one database: the rows of a store, and in front of them every row that changed or was used lately.
///
/// **Layout.** A small subtree (``RowPacking``) is one row at its root; a larger one is spread over the rows of
/// its children, recursively; a large leaf is a row of its own. No row lies inside another. So a node is found on the
/// way down from the root, and a write costs the same under ten children or ten million.
///
/// **Memory.** Known places are ``RowNode``s in a trie. A child that a spread node does not list is as in the store,
/// unless the node is complete. A changed node stays until the store has it (``freeze()``, ``applied(_:)``), and
/// everything below a cleared one until the store has no obsolete rows there; others go when the budget is used up.
/// Because a whole-value write below a known spread node replaces the old value, it need not ask the store. A large
/// value stays text in front of the store until the store has its rows (``attach(_:at:)``).
///
/// Used by one thread at a time. Reads and writes cost O(depth) look-ups plus the row they touch, and one store seek
/// for a place that is not known.
package final class TreeRows {
    let store: LayeredStore
    let packing: RowPacking
    /// Bytes of memory that nodes may take before unused ones are let go.
    let residentBytesMax: Int

    var root = RowNode(segment: [], parent: nil, state: .unknown, value: .null)
    /// The generation that changes are counted to; the ones before are frozen or applied.
    var generation: UInt64 = 1
    var appliedGeneration: UInt64 = 0
    /// Nodes that changed in the current generation, each once.
    var changed: [RowNode] = []
    /// Spread nodes that lost something in the current generation.
    var shrunk: [RowNode] = []
    /// Why a freeze left rows spread that could be one: the last failure that nobody has taken yet.
    package var packingFailure: StorageError?
    /// Those that changed in earlier generations, which the store does not have yet.
    var unapplied: [(generation: UInt64, nodes: [RowNode])] = []
    /// The same for generations that the store has, in any order, not looked at yet.
    var settled: [[RowNode]] = []
    /// Nodes that are as the store has them, but for those in ``settled`` and those that changed since they came in.
    var ring = NodeRing()
    /// Nodes that are in no tree any more, and whose children have yet to be taken apart.
    var cutOff: [RowNode] = []
    /// Looks at nodes of the ring that ``trim(looks:)`` has yet to make for those that came in, or changed there.
    var looksOwed = 0
    /// A result of ``touch(_:_:)``, which keeps the compiler from leaving out the loads.
    var touched = 0

    /// The approximate memory of all nodes in bytes, including those that are cut off but not taken apart yet.
    package internal(set) var residentBytes = 0
    /// About the memory of nodes that changed since the last freeze, in bytes.
    package internal(set) var changedBytes = 0

    package init(store: any RowStore, residentBytesMax: Int = 32 << 20, packing: RowPacking = RowPacking()) {
        self.store = LayeredStore(store)
        self.packing = packing
        self.residentBytesMax = residentBytesMax
        residentBytes = root.footprint
    }

    // MARK: Finding

    /// Where a walk along a path ended.
    struct Location {
        var node: RowNode
        /// Bytes of the path used up to `node`. When some are left, `node` is packed, and the rest lies inside its
        /// value; or the place is not known (``TreeRows/known(_:)``).
        var used: Int
    }

    /// Walks to the node at `path`, or to the packed node on the way that holds it.
    func locate(_ path: Path) throws(StorageError) -> Location { try locate(path, upTo: path.encoded.count) }

    /// The same for the ancestor whose encoding is the first `count` bytes of the path's. Unless it is `remembering`,
    /// what the store was asked for does not stay in memory: for scans, which pass by much and use it once.
    func locate(_ path: Path, upTo count: Int, remembering: Bool = true) throws(StorageError) -> Location {
        try path.encoded.span.bytes.withUnsafeBytes { (path) throws(StorageError) in
            try locate(encoded: path.part(0..<count), remembering: remembering)
        }
    }

    /// The same for an encoded path.
    func locate(encoded path: UnsafeRawBufferPointer, remembering: Bool = true) throws(StorageError) -> Location {
        if root.state == .unknown {
            (root.state, root.value) = try stored(at: [])
            residentBytes += root.value.bytes.count - CanonicalJSON.null.bytes.count
        }
        var place = known(path)
        while place.node.state == .spread, place.used < path.count {
            let node = place.node
            let end = Path.segmentEnd(in: path, from: place.used)
            let (state, value) = node.isComplete ? (.packed, .null) : try stored(at: Array(path[..<end]))
            let segment = Array(path[place.used..<end])
            let child = RowNode(segment: segment, parent: remembering ? node : nil, state: state, value: value)
            if remembering {
                add(child, to: node)
                enterRing(child)
            }
            place = Location(node: child, used: end)
        }
        return place
    }

    /// Walks along an encoded path as far as places are known, without asking the store. If part of the path is left
    /// after a spread node, its child there is not known.
    func known(_ path: UnsafeRawBufferPointer) -> Location {
        let (node, used) = knownNode(path)
        return Location(node: node.takeUnretainedValue(), used: used)
    }

    private func knownNode(_ path: UnsafeRawBufferPointer) -> (node: Unmanaged<RowNode>, used: Int) {
        // Nodes on the way stay in their tables, so their references need not be counted.
        var node = Unmanaged.passUnretained(root)
        var used = 0
        while used < path.count {
            let end = Path.segmentEnd(in: path, from: used)
            let child = node._withUnsafeGuaranteedRef { node in
                node.state == .spread ? node.children.find(path.part(used..<end)) : nil
            }
            guard let child else { break }
            child._withUnsafeGuaranteedRef { $0.isRecent = true }
            (node, used) = (child, end)
        }
        return (node, used)
    }

    /// The text of the value at an encoded path if a row in memory has all of it. Asks no store. The bytes are those of
    /// the row, and stay until the tree changes.
    func knownValue(at path: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let (node, used) = knownNode(path)
        return node._withUnsafeGuaranteedRef { node in
            guard node.state == .packed else { return nil }
            // Safe because: the node keeps the array, whose bytes do not move while it is not changed.
            let value = node.value.bytes.withUnsafeBytes { $0 }
            if used == path.count { return value }
            let range = node.value.range(ofEncoded: path.part(used..<path.count), in: 0..<value.count)
            return range.map(value.part) ?? CanonicalJSON.null.bytes.withUnsafeBytes { $0 }
        }
    }

    /// Reads the store's rows at `key` and below. One seek.
    private func stored(at key: [UInt8]) throws(StorageError) -> (RowNode.State, CanonicalJSON) {
        let end = Path.subtreeEnd(of: key)
        let first: Row?
        do throws(StorageError) {
            first = try store.rows(from: key, below: end).next()
        } catch {
            // A damaged row is refused to those who read it. Below this place it only shows that the place is spread.
            guard case .damaged = error, let found = try store.rows(from: key, below: end).nextKey(),
                found.count != key.count
            else { throw error }
            return (.spread, .null)
        }
        switch first {
        case nil: return (.packed, .null)
        case .some(let row) where row.key.count == key.count:
            switch row.value {
            case .subtree(let json): return (.packed, json)
            case .header(let priority): return (.spread, priority)
            }
        case .some: return (.spread, .null)
        }
    }

    // MARK: Reading

    /// The value at `path` in canonical form. Throws ``ReadError/tooLarge`` once more than `bytesMax` bytes would be
    /// needed.
    package func read(_ path: Path, bytesMax: Int = .max) throws(ReadError) -> CanonicalJSON {
        do {
            let place = try locate(path)
            if place.node.state == .packed {
                if place.used == path.encoded.count { return place.node.value }
                return place.node.value.value(at: path.dropFirst(bytes: place.used))
            }
            var isTooLarge = knownBytes(below: place.node, exceed: bytesMax)
            if isTooLarge { throw ReadError.tooLarge }
            var joiner = RowJoiner(base: path.encoded.count)
            try forEachRow(at: place.node, key: path.encoded) { key, value in
                joiner.append(key: key, value: value)
                isTooLarge = joiner.count > bytesMax
                return !isTooLarge
            }
            if isTooLarge { throw ReadError.tooLarge }
            return joiner.finish()
        } catch let error as StorageError {
            throw .storage(error)
        } catch {
            throw .tooLarge
        }
    }

    package enum ReadError: Error {
        case tooLarge
        case storage(StorageError)
    }

    /// Whether the known children of a spread node alone are larger than `limit`. Needs no order, so it is cheaper
    /// than a visit.
    func knownBytes(below node: RowNode, exceed limit: Int) -> Bool {
        var bytes = 0
        return node.children.contains { child in
            bytes += child.value.isNull ? 0 : child.value.bytes.count
            return bytes > limit
        }
    }

    /// Visits the present rows at and below a place, in key order, until `body` answers false. The part of a row above
    /// the place counts as a row at the place.
    package func forEachRow(
        at path: Path, _ body: (Path, RowValue) -> Bool
    ) throws(StorageError) {
        let place = try locate(path)
        if place.used == path.encoded.count {
            try forEachRow(at: place.node, key: path.encoded) { body(Path(encoded: $0), $1) }
        } else {
            let value = place.node.value.value(at: path.dropFirst(bytes: place.used))
            if !value.isNull { _ = body(path, .subtree(value)) }
        }
    }

    /// Visits every row at and below a node in key order, changed ones as they are now, until `body` answers false.
    @discardableResult
    func forEachRow(
        at node: RowNode, key: [UInt8], _ body: ([UInt8], RowValue) -> Bool
    ) throws(StorageError) -> Bool {
        switch node.state {
        case .packed:
            return node.value.isNull || body(key, .subtree(node.value))
        case .unknown:
            return true
        case .spread:
            if !node.value.isNull, !body(key, .header(priority: node.value)) { return false }
            return try forEachRowOfChildren(of: node, key: key, body)
        }
    }

    private func forEachRowOfChildren(
        of node: RowNode, key: [UInt8], _ body: ([UInt8], RowValue) -> Bool
    ) throws(StorageError) -> Bool {
        let known = node.children.sorted()
        if node.isComplete {
            for child in known where try !forEachRow(at: child, key: key + child.segment, body) { return false }
            return true
        }
        // A cursor ends at a known child in which rows are being cleared, and another begins after it.
        let clearing = Set(store.clearing.compactMap { Self.segment(of: $0, behind: key) })
        var lower = key + [0]
        var start = 0
        for (index, child) in known.enumerated() where clearing.contains(child.segment) {
            let childKey = key + child.segment
            if try !forEachRow(from: lower, below: childKey, known[start..<index], of: key, body) { return false }
            if try !forEachRow(at: child, key: childKey, body) { return false }
            lower = Path.subtreeEnd(of: childKey)
            start = index + 1
        }
        return try forEachRow(from: lower, below: Path.subtreeEnd(of: key), known[start...], of: key, body)
    }

    private static func segment(of key: [UInt8], behind ancestor: [UInt8]) -> [UInt8]? {
        guard key.count > ancestor.count, key.starts(with: ancestor) else { return nil }
        return Array(key[ancestor.count..<Path(encoded: key).segmentEnd(from: ancestor.count)])
    }

    /// Visits the rows of a range: those of the known children of the node at `key`, and between them those of the
    /// store.
    private func forEachRow(
        from lower: [UInt8], below upper: [UInt8], _ known: ArraySlice<RowNode>, of key: [UInt8],
        _ body: ([UInt8], RowValue) -> Bool
    ) throws(StorageError) -> Bool {
        let cursor = try store.rows(from: lower, below: upper)
        var row = try cursor.next()
        for child in known {
            let childKey = key + child.segment
            while let current = row, current.key.precedesBytewise(childKey) {
                if !body(current.key, current.value) { return false }
                row = try cursor.next()
            }
            // Few rows inside a known child are skipped one by one.
            var skipped = 0
            while let current = row, current.key.starts(with: childKey) {
                skipped += 1
                if skipped == 8 { try cursor.seek(to: Path.subtreeEnd(of: childKey)) }
                row = try cursor.next()
            }
            if try !forEachRow(at: child, key: childKey, body) { return false }
        }
        while let current = row {
            if !body(current.key, current.value) { return false }
            row = try cursor.next()
        }
        return true
    }
}
