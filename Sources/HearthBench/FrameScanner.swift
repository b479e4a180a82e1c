/// Finds the frames of a server in the bytes of one connection, however they were cut, and does nothing else with them:
/// no opcode, flag or UTF-8 is looked at (RFC 6455 section 5.2 for the lengths).
///
/// A frame that lies whole in the bytes is handed on in place; one that is cut is put together first.
package struct FrameScanner {
    /// The beginning of a frame whose end is still to come.
    private var partial: [UInt8] = []

    package init() {}

    /// Calls `body` with the payload of each frame that ends within these bytes.
    @inline(__always)
    package mutating func scan(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(BenchError) -> Void
    ) throws(BenchError) {
        if partial.isEmpty {
            let start = try Self.forEachFrame(in: bytes, body)
            if start < bytes.count { partial.append(contentsOf: bytes[start...]) }
        } else {
            try scanJoined(bytes, body)
        }
    }

    /// Bytes of a frame that is not complete.
    package var pendingCount: Int { partial.count }

    private mutating func scanJoined(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(BenchError) -> Void
    ) throws(BenchError) {
        var joined: [UInt8] = []
        swap(&joined, &partial)
        joined.append(contentsOf: bytes)
        let start = try joined.span.withUnsafeBytes { (joined) throws(BenchError) in
            try Self.forEachFrame(in: joined, body)
        }
        if start < joined.count { partial = Array(joined[start...]) }
    }

    /// Answers where the first incomplete frame begins.
    @inline(__always)
    private static func forEachFrame(
        in bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(BenchError) -> Void
    ) throws(BenchError) -> Int {
        var start = 0
        while bytes.count - start >= 2 {
            var payload = start + 2
            var size = Int(bytes[start + 1])
            guard size < 128 else { throw BenchError("a server's frame is masked") }
            if size == 126 {
                guard bytes.count - start >= 4 else { return start }
                size = Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])
                payload = start + 4
            } else if size == 127 {
                guard bytes.count - start >= 10 else { return start }
                size = (start + 2..<start + 10).reduce(0) { $0 << 8 | Int(bytes[$1]) }
                guard size >= 0, size <= 1 << 40 else { throw BenchError("a frame is too long to be one") }
                payload = start + 10
            }
            guard bytes.count - payload >= size else { return start }
            try body(UnsafeRawBufferPointer(rebasing: bytes[payload..<payload + size]))
            start = payload + size
        }
        return start
    }
}
