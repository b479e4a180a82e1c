/// The frames of a WebSocket server. Nothing but their lengths is looked at: no opcode, flag or UTF-8 (RFC 6455 section
/// 5.2).
package enum WebSocketFrames: ReplyFormat {
    @inline(__always)
    package static func forEachReply(
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

package typealias FrameScanner = ReplyScanner<WebSocketFrames>
