import HearthJSONTree
import HearthTreeText

/// The children of one place that a write sets: at least one of them gets a value.
struct WrittenChildren {
    /// The encoded path of the place.
    let base: [UInt8]
    /// See ``CanonicalJSON/childAssignments(of:)``.
    let text: CanonicalJSON
    /// The child that rules are asked about, so that it need not be looked for: its encoded key, and the position of
    /// its value in the text.
    var current: (segment: [UInt8], value: Range<Int>)?

    init(base: [UInt8], text: CanonicalJSON) {
        self.base = base
        self.text = text
    }
}

extension WrittenTree {
    func value(
        at path: UnsafeRawBufferPointer, after written: WrittenChildren
    ) throws(RuleTreeError) -> RuleTreeValue {
        let base = written.base
        if path.count > base.count, base.withUnsafeBytes(path.starts) {
            let child = path.part(base.count..<Path.segmentEnd(in: path, from: base.count))
            let known = written.current.flatMap { $0.segment.elementsEqual(child) ? $0.value : nil }
            guard let range = known ?? self.members(of: written).value(of: child, in: written.text) else {
                return try before(path)
            }
            if written.text.isNull(range) { return .nothing }
            let rest = path.part(base.count + child.count..<path.count)
            return self.range(of: rest, in: written.text, range, ofValue: 0).map { .text(written.text, $0) } ?? .nothing
        }
        let value = try before(path)
        guard base.withUnsafeBytes({ $0.starts(withBytes: path) }) else { return value }
        // A leaf goes, as it gets children; other children stay.
        guard let (json, range) = value.priority else { return .spread(priority: .null) }
        return .spread(priority: json.part(range))
    }

    private func members(of written: WrittenChildren) -> MemberIndex {
        members(of: written.text.range, in: written.text, ofValue: 0)
    }

    private func before(_ path: UnsafeRawBufferPointer) throws(RuleTreeError) -> RuleTreeValue {
        try base?.value(at: path.bytes) ?? .nothing
    }

    /// - parameter before: the value at the path before the write.
    func forEachChild(
        of path: [UInt8], _ before: RuleTreeValue, after written: WrittenChildren,
        _ body: (RawSpan) throws(RuleTreeError) -> Bool
    ) throws(RuleTreeError) {
        guard written.base.starts(with: path) else {
            return try forEachChild(of: value(at: path.span.bytes), at: path) { (segment) throws(RuleTreeError) in
                try body(segment.span.bytes)
            }
        }
        var isStopped = false
        func visit(_ segment: [UInt8], ifThereBefore isWanted: Bool) throws(RuleTreeError) {
            let child = path + segment
            let wasThere = try base?.value(at: child.span.bytes).exists ?? false
            if wasThere == isWanted, try self.value(at: child.span.bytes).exists {
                isStopped = try !body(segment.span.bytes)
            }
        }
        try forEachChild(of: before, at: path) { (segment) throws(RuleTreeError) in
            try visit(segment, ifThereBefore: true)
            return !isStopped
        }
        if path.count < written.base.count {
            let end = written.base.withUnsafeBytes { Path.segmentEnd(in: $0, from: path.count) }
            if !isStopped { try visit(Array(written.base[path.count..<end]), ifThereBefore: false) }
            return
        }
        for child in written.text.children where !isStopped && !written.text.isNull(child.value) {
            var segment: [UInt8] = []
            child.appendSegment(to: &segment)
            try visit(segment, ifThereBefore: false)
        }
    }
}
