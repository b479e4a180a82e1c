import HearthJSONTree
import HearthTreeQueries
import HearthStorageErrors

extension TreeRows {
    /// The place of a child in an index; nil if it is not in the index. `child` ends with `segment`. At most two
    /// look-ups; see ``locate(_:upTo:remembering:)`` for `remembering`.
    func place(
        of child: Path, segment: [UInt8], in index: QueryIndex, remembering: Bool = true
    ) throws(StorageError) -> IndexPlace? {
        if case .unexpired(let index, let times, at: let now) = index {
            guard let place = try self.place(of: child, segment: segment, in: index, remembering: remembering) else {
                return nil
            }
            return try hasExpired(child, times, by: now) ? nil : place
        }
        let place = try locate(child, upTo: child.encoded.count, remembering: remembering)
        let node = place.node
        if node.state == .packed {
            guard let range = node.value.range(of: child.dropFirst(bytes: place.used)) else { return nil }
            return index.place(of: node.value, in: range, segment: segment)
        }
        if try isEmpty(node, key: child.encoded) { return nil }
        var bytes: [UInt8] = []
        switch index {
        case .key, .unexpired: break
        case .value: bytes = IndexValue.object
        case .priority: bytes = IndexValue.encoded(node.value)
        case .child(let relative): bytes = try indexValue(at: child.appending(relative), remembering)
        case .conditions(let conditions):
            bytes = try conditions.placeValue { (relative) throws(StorageError) in
                relative.isRoot ? IndexValue.object : try indexValue(at: child.appending(relative), remembering)
            }
        }
        return IndexPlace(bytes + segment)
    }

    /// Whether one of the times has come that a child may hold. A look-up each.
    func hasExpired(_ child: Path, _ times: [ExpiryTime], by now: Int64) throws(StorageError) -> Bool {
        for time in times where try hasCome(time, of: child, by: now) { return true }
        return false
    }

    /// Whether a child holds a time at which it expires, and this has come. At most a look-up.
    func hasCome(_ time: ExpiryTime, of child: Path, by now: Int64) throws(StorageError) -> Bool {
        let path = child.appending(time.path)
        let place = try locate(path, upTo: path.encoded.count, remembering: false)
        guard place.node.state == .packed, let range = place.node.value.range(of: path.dropFirst(bytes: place.used)),
            let number = place.node.value.number(in: range)
        else { return false }
        return time.time(number) <= now
    }

    private func indexValue(at path: Path, _ remembering: Bool) throws(StorageError) -> [UInt8] {
        let place = try locate(path, upTo: path.encoded.count, remembering: remembering)
        guard place.node.state == .packed else {
            return try isEmpty(place.node, key: path.encoded) ? IndexValue.nothing : IndexValue.object
        }
        var bytes: [UInt8] = []
        let value = place.node.value
        IndexValue.append(value, in: value.range(of: path.dropFirst(bytes: place.used)), to: &bytes)
        return bytes
    }

    /// The same for a child that a scan has met.
    func place(of child: ScannedChild, below parent: Path, in index: QueryIndex) throws(StorageError) -> IndexPlace? {
        if index == .key { return IndexPlace(child.segment) }
        if let value = child.value {
            if case .unexpired(_, let times, at: let now) = index {
                let isExpired = times.contains { $0.time(of: value, in: value.range).map { $0 <= now } ?? false }
                if isExpired { return nil }
            }
            return index.place(of: value, segment: child.segment)
        }
        let path = Path(encoded: parent.encoded + child.segment)
        return try place(of: path, segment: child.segment, in: index, remembering: false)
    }
}
