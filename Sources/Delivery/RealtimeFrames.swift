import HearthWebSocketCodec
import HearthWireProtocol

/// Puts a message of the realtime protocol into a server's WebSocket frames.
package enum RealtimeFrames {
    package static func append(_ message: Span<UInt8>, to out: inout [UInt8]) {
        // A UTF-8 text has at least as many bytes as UTF-16 units.
        if message.count <= MessageChunks.unitsMax { return FrameEncoder.append(.text, message.bytes, to: &out) }
        message.withUnsafeBytes { bytes in
            let chunks = MessageChunks.ranges(of: bytes)
            if chunks.count > 1 { FrameEncoder.append(.text, Array(String(chunks.count).utf8).span.bytes, to: &out) }
            for chunk in chunks { FrameEncoder.append(.text, message.extracting(chunk).bytes, to: &out) }
        }
    }
}
