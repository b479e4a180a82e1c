extension Path {
    /// Where the segment that begins at `start` ends. O(segment).
    package func segmentEnd(from start: Int) -> Int {
        encoded.withUnsafeBytes { Path.segmentEnd(in: $0, from: start) }
    }

    /// The path of the first segments, which take `bytes` bytes.
    package func prefix(bytes: Int) -> Path {
        bytes == encoded.count ? self : Path(encoded: Array(encoded[..<bytes]))
    }

    /// The path after the first segments, which take `bytes` bytes.
    package func dropFirst(bytes: Int) -> Path {
        bytes == 0 ? self : Path(encoded: Array(encoded[bytes...]))
    }

    /// The exclusive upper bound of all encoded paths at or below `encoded`.
    package static func subtreeEnd(of encoded: [UInt8]) -> [UInt8] { encoded + [Segment.upperBound] }
}

extension WriteTarget {
    /// The text form: `a/b`, `a/b/.priority`.
    package var text: [UInt8] {
        guard isPriority else { return path.text }
        return path.text + (path.isRoot ? ".priority" : "/.priority").utf8
    }
}

extension CanonicalJSON {
    /// Whether the value may be a priority: null, a number or a string (Protocol.md 7.1).
    package var isPriority: Bool {
        switch bytes.first {
        case UInt8(ascii: "{"), UInt8(ascii: "t"), UInt8(ascii: "f"): false
        default: true
        }
    }
}
