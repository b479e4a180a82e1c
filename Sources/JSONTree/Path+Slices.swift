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
