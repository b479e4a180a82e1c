/// The place of a node in the tree, as one byte string that orders as the tree does.
///
/// `encoded` is the keys' segments (see `Segment`) one after the other. Comparing two encodings byte by byte gives the
/// order of a walk through the tree: a node before its descendants, children in key order (Protocol.md 7.5). An
/// encoding is a prefix of another exactly if it is the same place or an ancestor of it. The root is empty.
package struct Path: Hashable, Comparable, Sendable {
    package let encoded: [UInt8]

    package static let root = Path(encoded: [])

    /// `encoded` must have come from a `Path`, such as from storage. Other bytes are checked first (`TreeText`).
    package init(encoded: [UInt8]) { self.encoded = encoded }

    package init(_ keys: some Sequence<Key>) {
        var encoded: [UInt8] = []
        for key in keys { key.utf8.withUnsafeBytes { Segment.append(key: $0, to: &encoded) } }
        self.encoded = encoded
    }

    package var isRoot: Bool { encoded.isEmpty }

    /// Number of keys. O(bytes).
    package var depth: Int { segments.reduce(0) { count, _ in count + 1 } }

    /// Nil for the root.
    package var parent: Path? {
        var last: Range<Int>?
        for segment in segments { last = segment }
        return last.map { Path(encoded: Array(encoded[..<$0.lowerBound])) }
    }

    package var firstKey: Key? {
        var segments = segments
        return segments.next().map(key)
    }

    package var lastKey: Key? {
        var last: Range<Int>?
        for segment in segments { last = segment }
        return last.map(key)
    }

    /// The key that the segment at `range`, one of `segments`, encodes.
    package func key(at range: Range<Int>) -> Key {
        var utf8: [UInt8] = []
        encoded.withUnsafeBytes { Segment.appendKey(of: $0.part(range), to: &utf8) }
        return Key(trusted: utf8)
    }

    package func appending(_ key: Key) -> Path {
        var encoded = encoded
        key.utf8.withUnsafeBytes { Segment.append(key: $0, to: &encoded) }
        return Path(encoded: encoded)
    }

    package func appending(_ relative: Path) -> Path {
        if relative.isRoot { return self }
        return Path(encoded: encoded + relative.encoded)
    }

    /// Whether `other` is this place or below it.
    package func contains(_ other: Path) -> Bool {
        guard encoded.count <= other.encoded.count else { return false }
        return encoded.withUnsafeBytes { a in
            other.encoded.withUnsafeBytes { b in firstDifference(a, b) == a.count }
        }
    }

    /// The rest of this path after `ancestor`; nil if `ancestor` does not contain it.
    package func suffix(after ancestor: Path) -> Path? {
        guard ancestor.contains(self) else { return nil }
        return ancestor.isRoot ? self : Path(encoded: Array(encoded[ancestor.encoded.count...]))
    }

    /// Greater than the encoding of every path at or below this one, not greater than that of any other greater path.
    package var subtreeEnd: [UInt8] { encoded + [Segment.upperBound] }

    package static func == (a: Path, b: Path) -> Bool {
        a.encoded.withUnsafeBytes { a in b.encoded.withUnsafeBytes { b in equalBytes(a, b) } }
    }

    package static func < (a: Path, b: Path) -> Bool {
        a.encoded.withUnsafeBytes { a in b.encoded.withUnsafeBytes { b in precedes(a, b) } }
    }

    package func hash(into hasher: inout Hasher) {
        encoded.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension Path {
    /// The keys' encoded segments, first to last, as ranges of `encoded`. No allocation.
    package var segments: Segments { Segments(encoded: encoded) }

    package struct Segments: Sequence, IteratorProtocol {
        private let encoded: [UInt8]
        private var offset = 0

        fileprivate init(encoded: [UInt8]) { self.encoded = encoded }

        package mutating func next() -> Range<Int>? {
            guard offset < encoded.count else { return nil }
            let start = offset
            offset = encoded.withUnsafeBytes { Path.segmentEnd(in: $0, from: start) }
            return start..<offset
        }
    }

    /// End of the segment that starts at `start`; the end of the bytes if they are damaged.
    package static func segmentEnd(in encoded: UnsafeRawBufferPointer, from start: Int) -> Int {
        if encoded[start] == Segment.integerTag { return min(start + Segment.integerByteCount, encoded.count) }
        var end = start + 1
        while end < encoded.count, encoded[end] != Segment.textEnd { end += 1 }
        return min(end + 1, encoded.count)
    }

    /// The keys, first to last. Each one is made when it is asked for.
    package var keys: LazyMapSequence<Segments, Key> { segments.lazy.map { key(at: $0) } }
}
