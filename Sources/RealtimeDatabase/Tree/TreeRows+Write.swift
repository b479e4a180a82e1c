package import HearthJSONTree
import HearthTreeText
package import HearthStorageErrors

extension TreeRows {
    /// Replaces the value (and priority) at `path`; null removes it, and ancestors left empty vanish.
    package func set(_ value: CanonicalJSON, at path: Path) throws(StorageError) {
        try path.encoded.span.bytes.withUnsafeBytes { (path) throws(StorageError) in
            try set(value, at: path, from: known(path))
        }
    }

    /// The same for an encoded path, and a text that has room in one row and is not null. It is copied: into the memory
    /// of the value before, if that has as many bytes.
    func set(text: UnsafeRawBufferPointer, at path: UnsafeRawBufferPointer) throws(StorageError) {
        assert(text.count <= packing.packedBytesMax, "a text that may need several rows")
        let place = known(path)
        let node = place.node
        if place.used == path.count, node.state == .packed, node.value.bytes.count == text.count,
            node.children.isEmpty
        {
            node.value.overwrite(with: text)
            return markChanged(node)
        }
        try set(CanonicalJSON(trusted: [UInt8](text)), at: path, from: place)
    }

    /// - parameter known: where a walk along the path ends.
    private func set(
        _ value: CanonicalJSON, at path: UnsafeRawBufferPointer, from known: Location
    ) throws(StorageError) {
        // To the place itself, to the packed node that holds it, or to its spread parent.
        var place = known
        if place.node.state == .unknown || place.node.state == .spread && place.used < path.count {
            let parentEnd = path.count - Path.lastSegmentCount(of: path)
            if place.used < parentEnd || place.node.state == .unknown {
                place = try locate(encoded: path.part(0..<parentEnd))
            }
        }
        let node = place.node
        let isWhole = place.used == path.count
        // Before the node is replaced, which may cut it off.
        let shrunken = value.isNull ? (isWhole ? node.parent : node) : nil
        if isWhole {
            replace(node, with: value)
        } else if node.state == .packed {
            replace(node, with: node.value.setting(value, at: Path(path, droppingFirst: place.used)))
        } else {
            // The child is not known: the parent has just been made, or has no such child.
            // What the store holds here need not be read: it is replaced as a whole.
            let segment = [UInt8](path.part(place.used..<path.count))
            let child = RowNode(segment: segment, parent: node, state: .packed, value: .null)
            if !node.isComplete {
                child.clearedIn = generation
                noteShrunk(node)
            }
            add(child, to: node)
            replace(child, with: value)
        }
        if let shrunken { try removeEmptyHeaders(from: shrunken) }
    }

    /// Sets the priority of an existing node; null removes it. Answers false where there is no data.
    package func setPriority(_ priority: CanonicalJSON, at path: Path) throws(StorageError) -> Bool {
        let place = try locate(path)
        if place.node.state == .packed {
            guard let changed = place.node.value.settingPriority(priority, at: path.dropFirst(bytes: place.used)) else {
                return false
            }
            replace(place.node, with: changed)
            return true
        }
        guard try !isEmpty(place.node, key: path.encoded) else { return false }
        noteShrunk(place.node)
        change(place.node) { $0.value = priority }
        return true
    }

    /// Whether there is any data at `path`. Costs one look-up; the value is not assembled.
    package func exists(_ path: Path) throws(StorageError) -> Bool {
        let place = try locate(path)
        if place.node.state == .packed {
            return place.node.value.hasValue(at: path.dropFirst(bytes: place.used))
        }
        return try !isEmpty(place.node, key: path.encoded)
    }

    func isEmpty(_ node: RowNode, key: [UInt8]) throws(StorageError) -> Bool {
        if knownBytes(below: node, exceed: 0) { return false }
        return try forEachRow(at: node, key: key) { _, value in
            if case .subtree = value { false } else { true }
        }
    }

    /// Makes `value` the whole subtree of a node.
    func replace(_ node: RowNode, with value: CanonicalJSON) {
        let wasSpread = node.state == .spread
        if wasSpread || value.isNull || value.bytes.count < node.value.bytes.count, let parent = node.parent {
            noteShrunk(parent)
        }
        let node = node.children.isEmpty ? node : renew(node)
        if wasSpread { node.clearedIn = generation }
        change(node) { node in
            node.state = .packed
            node.isComplete = false
            node.value = value
            if !packing.fits(value) { spread(node) }
        }
    }

    /// Changes a node itself, and keeps account of it.
    func change(_ node: RowNode, _ body: (RowNode) -> Void) {
        let footprint = node.footprint
        body(node)
        residentBytes += node.footprint - footprint
        if node.changedIn == generation { changedBytes += node.footprint - footprint }
        markChanged(node)
    }

    /// Gives the children of a large packed node rows of their own, recursively.
    func spread(_ node: RowNode) {
        let value = node.value
        node.state = .spread
        node.isComplete = true
        node.clearedIn = generation
        node.value = value.priority
        for member in value.children {
            let json = value.part(member.value)
            var segment: [UInt8] = []
            member.appendSegment(to: &segment)
            let child = RowNode(segment: segment, parent: node, state: .packed, value: json)
            if !packing.fits(json) { spread(child) }
            add(child, to: node)
            markChanged(child)
        }
    }

    /// A spread node with a priority keeps a row of its own; when its last child goes, so must that row.
    private func removeEmptyHeaders(from node: RowNode) throws(StorageError) {
        var next: RowNode? = node
        while let current = next {
            next = current.parent
            if current.state == .spread, !current.value.isNull, try isEmpty(current, key: current.key) {
                replace(current, with: .null)
            }
        }
    }

    func noteShrunk(_ node: RowNode) {
        if node.state == .spread, !node.isShrunk {
            node.isShrunk = true
            shrunk.append(node)
        }
    }
}
