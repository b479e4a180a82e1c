import HearthBytes
package import HearthJSONTree

extension CompoundHash {
    /// A part of the value that the client has otherwise: the leaves behind `after` up to and including `through`.
    package struct Difference: Hashable, Sendable {
        /// Nil for the first part.
        package var after: Path?
        /// Nil for the last part.
        package var through: Path?
        /// The leaves there, as a tree from the value's root; null without leaves.
        package var value: CanonicalJSON
    }

    /// The parts of `value` whose hashes are not the client's, in order.
    ///
    /// Nil if the comparison is useless and the whole value must be sent: the client's lists do not belong together, or
    /// there are priorities in the value, which clients merge wrongly. The same holds if the answer is empty while the
    /// values' hashes differ.
    package static func differences(in value: CanonicalJSON, from parts: Parts) -> [Difference]? {
        let (hashes, posts) = (parts.hashes, parts.posts)
        guard hashes.count == posts.count + 1, zip(posts, posts.dropFirst()).allSatisfy({ $0 < $1 }) else { return nil }
        return value.bytes.withUnsafeBytes { text in
            guard !hasPriorities(text) else { return nil }
            var parts = [PartHasher](repeating: PartHasher(), count: hashes.count)
            forEachLeaf(text, posts: posts) { part, place, leaf in parts[part].add(leaf, at: place) }
            var differing = Set<Int>()
            for (index, part) in parts.enumerated() where part.finish() != hashes[index] { differing.insert(index) }
            if differing.isEmpty { return [] }
            var builders = [Int: PartBuilder]()
            forEachLeaf(text, posts: posts) { part, place, leaf in
                if differing.contains(part) { builders[part, default: PartBuilder()].add(leaf, at: place) }
            }
            return differing.sorted().map { index in
                Difference(
                    after: index > 0 ? posts[index - 1] : nil, through: index < posts.count ? posts[index] : nil,
                    value: builders[index]?.finish() ?? .null)
            }
        }
    }

    /// The hashes of a value's parts, as a client computes them.
    package static func hashes(of value: CanonicalJSON, posts: [Path]) -> [[UInt8]] {
        value.bytes.withUnsafeBytes { text in
            var parts = [PartHasher](repeating: PartHasher(), count: posts.count + 1)
            forEachLeaf(text, posts: posts) { part, place, leaf in parts[part].add(leaf, at: place) }
            return parts.map { $0.finish() }
        }
    }

    private static func hasPriorities(_ text: UnsafeRawBufferPointer) -> Bool {
        // Inside a string the quotes would be escaped.
        text.indices.contains { text[$0] == UInt8(ascii: "{") && CanonicalScan.has("{\".priority\":", text, at: $0) }
    }

    /// Calls `body` with every leaf in tree order: the index of its part, its encoded place, its text.
    private static func forEachLeaf(
        _ text: UnsafeRawBufferPointer, posts: [Path],
        _ body: (_ part: Int, _ place: [UInt8], _ leaf: UnsafeRawBufferPointer) -> Void
    ) {
        var part = 0
        var place: [UInt8] = []
        func walk(_ range: Range<Int>) {
            let shape = CanonicalShape(text, range)
            if shape.kind == .leaf {
                while part < posts.count, posts[part] < Path(encoded: place) { part += 1 }
                body(part, place, text.part(shape.content))
            }
            for member in CanonicalMembers(text, shape) {
                let count = place.count
                member.withKey(text) { Segment.append(key: $0, to: &place) }
                walk(member.value)
                place.removeSubrange(count...)
            }
        }
        walk(0..<text.count)
    }
}

/// The segments of one leaf's place that the next leaf's place does not share, and the other way round.
private struct PlaceChange {
    var closed = 0
    /// Ranges of the new place.
    var opened: [Range<Int>] = []

    init(from old: [UInt8], to new: [UInt8]) {
        var isCommon = true
        let oldSegments = Array(Path(encoded: old).segments)
        for (index, segment) in Path(encoded: new).segments.enumerated() {
            isCommon = isCommon && index < oldSegments.count && old[oldSegments[index]] == new[segment]
            if !isCommon { opened.append(segment) }
        }
        let common = Path(encoded: new).depth - opened.count
        closed = oldSegments.count - common
    }
}

/// Digest of one part's text: `("a":("x":(number:…),"y":(string:"…")))`, keys and strings with `"` and `\` escaped.
private struct PartHasher {
    private var sha = SHA1()
    private var last: [UInt8]?

    mutating func add(_ leaf: UnsafeRawBufferPointer, at place: [UInt8]) {
        let change = PlaceChange(from: last ?? [], to: place)
        sha.update(last == nil ? "(" : "")
        for _ in 0..<change.closed { sha.update(")") }
        if last != nil { sha.update(",") }
        last = place
        for segment in change.opened {
            place.withUnsafeBytes { place in Segment.withKey(of: place.part(segment)) { updateQuoted($0) } }
            sha.update(":(")
        }
        switch Leaf(canonical: leaf) {
        case .bool(let value): sha.update(value ? "boolean:true" : "boolean:false")
        case .integer(let value): update(Double(value))
        case .double(let value): update(value)
        case .string(let utf8):
            sha.update("string:")
            utf8.withUnsafeBytes { updateQuoted($0) }
        }
    }

    private mutating func update(_ number: Double) {
        sha.update("number:")
        sha.update(hexadecimalOf: number.bitPattern)
    }

    private mutating func updateQuoted(_ utf8: UnsafeRawBufferPointer) {
        var text = [UInt8(ascii: "\"")]
        for byte in utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { text.append(UInt8(ascii: "\\")) }
            text.append(byte)
        }
        text.append(UInt8(ascii: "\""))
        text.withUnsafeBytes { sha.update($0) }
    }

    /// Empty for a part without leaves.
    func finish() -> [UInt8] {
        guard let last else { return [] }
        var sha = sha
        for _ in 0...Path(encoded: last).depth { sha.update(")") }
        return sha.finishAsText()
    }
}

/// The tree of one part's leaves.
private struct PartBuilder {
    private var builder = CanonicalBuilder()
    private var last: [UInt8]?

    mutating func add(_ leaf: UnsafeRawBufferPointer, at place: [UInt8]) {
        let change = PlaceChange(from: last ?? [], to: place)
        // The leaf's own key opened no object.
        for _ in 0..<max(change.closed - 1, 0) { builder.closeObject() }
        for (index, segment) in change.opened.enumerated() {
            if index > 0 || last == nil { builder.openObject() }
            place.withUnsafeBytes { builder.key(segment: $0.part(segment).bytes) }
        }
        builder.value(leaf.bytes)
        last = place
    }

    consuming func finish() -> CanonicalJSON {
        for _ in 0..<Path(encoded: last ?? []).depth { builder.closeObject() }
        return builder.finish()
    }
}
