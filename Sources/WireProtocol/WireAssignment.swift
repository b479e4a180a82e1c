package import HearthJSONTree

/// One place and its new value, of a set or an update.
package struct WireAssignment: Hashable, Sendable {
    package var target: WriteTarget
    package var value: CanonicalJSON
    package var hasServerValues: Bool

    package init(target: WriteTarget, value: CanonicalJSON, hasServerValues: Bool = false) {
        self.target = target
        self.value = value
        self.hasServerValues = hasServerValues
    }
}

extension WireAssignment {
    /// Reads a value for a place, whose depth limits that of the value. Offsets of errors count from the start of
    /// `text`.
    package static func parse(
        _ text: UnsafeRawBufferPointer, for target: WriteTarget
    ) throws(RequestError) -> WireAssignment {
        try read(target) { (limits) throws(JSONError) in try CanonicalJSON.parse(text.bytes, limits: limits) }
    }

    /// The same, for a text that is not needed any more (``CanonicalJSON/parse(using:limits:)``).
    package static func parse(
        using text: inout [UInt8], for target: WriteTarget
    ) throws(RequestError) -> WireAssignment {
        try read(target) { (limits) throws(JSONError) in try CanonicalJSON.parse(using: &text, limits: limits) }
    }

    private static func read(
        _ target: WriteTarget,
        _ parse: (CanonicalJSON.Limits) throws(JSONError) -> (value: CanonicalJSON, hasServerValues: Bool)
    ) throws(RequestError) -> WireAssignment {
        do throws(JSONError) {
            let (value, hasServerValues) = try parse(.init(depth: Path.maximumDepth - target.path.depth))
            if target.isPriority, !value.isPriority, !value.isServerValue { throw .init(.invalidPriority, at: 0) }
            return WireAssignment(target: target, value: value, hasServerValues: hasServerValues)
        } catch {
            throw .value(error)
        }
    }

    /// Reads the object of an update: keys are paths relative to `base`, each value replaces the data there. Offsets of
    /// errors count from the start of `text`.
    package static func parse(_ text: UnsafeRawBufferPointer, base: Path) throws(RequestError) -> [WireAssignment] {
        var members: [(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)] = []
        var reader = JSONReader(text)
        do throws(JSONError) {
            try reader.forEachMember { (reader, key) throws(JSONError) in
                members.append((key, try reader.skipValue()))
            }
            try reader.finish()
        } catch {
            throw .value(error)
        }
        var assignments: [WireAssignment] = []
        assignments.reserveCapacity(members.count)
        for (key, value) in members {
            let target: WriteTarget
            do throws(PathError) {
                target = try Self.target(key, below: base)
            } catch {
                throw .key(error, at: Self.offset(of: key, in: text) - 1)
            }
            do throws(RequestError) {
                assignments.append(try parse(value, for: target))
            } catch {
                guard case .value(let error) = error else { throw error }
                throw .value(JSONError(error.kind, at: Self.offset(of: value, in: text) + error.offset))
            }
        }
        try refuseOverlaps(assignments)
        return assignments
    }

    /// `key` is the text between the quotes.
    private static func target(_ key: UnsafeRawBufferPointer, below base: Path) throws(PathError) -> WriteTarget {
        var utf8: [UInt8] = []
        JSONText.appendUnescaped(key, to: &utf8)
        let relative = try WriteTarget(parsing: utf8)
        if relative.path.isRoot, !relative.isPriority { throw .key(.empty, index: 0) }
        let target = WriteTarget(path: base.appending(relative.path), isPriority: relative.isPriority)
        guard target.path.depth <= Path.maximumDepth else { throw .tooDeep }
        return target
    }

    /// `part` is a part of `text`.
    private static func offset(of part: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer) -> Int {
        guard let start = text.baseAddress, let partStart = part.baseAddress else { return 0 }
        return partStart - start
    }

    /// No path of an update may lie inside another (Protocol.md 4.6). O(n log n): in path order, paths inside come
    /// right after.
    private static func refuseOverlaps(_ assignments: [WireAssignment]) throws(RequestError) {
        guard assignments.count > 1 else { return }
        let targets = assignments.map(\.target).sorted { $0.path < $1.path }
        for (earlier, later) in zip(targets, targets.dropFirst()) {
            // A priority overlaps with its own node only.
            let overlaps = earlier.isPriority ? earlier.path == later.path : earlier.path.contains(later.path)
            if overlaps { throw .overlappingPaths }
        }
    }
}

extension CanonicalJSON {
    /// A server value and nothing else: neither below children nor with a priority.
    fileprivate var isServerValue: Bool { bytes.starts(with: "{\".sv\":".utf8) }
}
