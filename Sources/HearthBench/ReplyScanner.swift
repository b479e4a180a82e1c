/// How a server marks where a reply begins and ends.
package protocol ReplyFormat {
    /// Calls `body` with each reply that ends within the bytes. Answers where the first incomplete one begins.
    static func forEachReply(
        in bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(BenchError) -> Void
    ) throws(BenchError) -> Int
}

/// Finds the replies of a server in the bytes of one connection, however they were cut.
///
/// A reply that lies whole in the bytes is handed on in place; one that is cut is put together first.
package struct ReplyScanner<Format: ReplyFormat> {
    /// The beginning of a reply whose end is still to come.
    private var partial: [UInt8] = []

    package init() {}

    /// Calls `body` with each reply that ends within these bytes.
    @inline(__always)
    package mutating func scan(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(BenchError) -> Void
    ) throws(BenchError) {
        if partial.isEmpty {
            let start = try Format.forEachReply(in: bytes, body)
            if start < bytes.count { partial.append(contentsOf: bytes[start...]) }
        } else {
            try scanJoined(bytes, body)
        }
    }

    /// Bytes of a reply that is not complete.
    package var pendingCount: Int { partial.count }

    private mutating func scanJoined(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(BenchError) -> Void
    ) throws(BenchError) {
        var joined: [UInt8] = []
        swap(&joined, &partial)
        joined.append(contentsOf: bytes)
        let start = try joined.span.withUnsafeBytes { (joined) throws(BenchError) in
            try Format.forEachReply(in: joined, body)
        }
        if start < joined.count { partial = Array(joined[start...]) }
    }
}
