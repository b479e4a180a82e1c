import JSONTree
import StorageErrors

extension TreeRows {
    /// Where a child stands in an index; nil if it is not there. `child` ends with `segment`. At most two look-ups; see
    /// ``locate(_:upTo:remembering:)`` for `remembering`.
    func place(
        of child: Path, segment: [UInt8], in index: QueryIndex, remembering: Bool = true
    ) throws(StorageError) -> IndexPlace? {
        let place = try locate(child, upTo: child.encoded.count, remembering: remembering)
        let node = place.node
        if node.state == .packed {
            guard let range = node.value.range(of: child.dropFirst(bytes: place.used)) else { return nil }
            return index.place(of: node.value, in: range, segment: segment)
        }
        if try isEmpty(node, key: child.encoded) { return nil }
        var bytes: [UInt8] = []
        switch index {
        case .key: break
        case .value: bytes = IndexValue.object
        case .priority: bytes = IndexValue.encoded(node.value)
        case .child(let relative):
            let path = child.appending(relative)
            let inner = try locate(path, upTo: path.encoded.count, remembering: remembering)
            if inner.node.state == .packed {
                let value = inner.node.value
                IndexValue.append(value, in: value.range(of: path.dropFirst(bytes: inner.used)), to: &bytes)
            } else {
                bytes = try isEmpty(inner.node, key: path.encoded) ? IndexValue.nothing : IndexValue.object
            }
        }
        return IndexPlace(bytes + segment)
    }

    /// The same for a child that a scan has met.
    func place(of child: ScannedChild, below parent: Path, in index: QueryIndex) throws(StorageError) -> IndexPlace? {
        if index == .key { return IndexPlace(child.segment) }
        if let value = child.value { return index.place(of: value, segment: child.segment) }
        let path = Path(encoded: parent.encoded + child.segment)
        return try place(of: path, segment: child.segment, in: index, remembering: false)
    }
}
