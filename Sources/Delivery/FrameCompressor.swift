package import HearthEventLoop
package import HearthWebSocketCodec
import HearthServerCodecs

/// Compresses frames for the connections of one loop that agreed on permessage-deflate, each run of frames once,
/// however many connections it goes to: all of them agreed that messages do not build on one another (RFC 7692 section
/// 7.1.1).
package final class FrameCompressor {
    /// Payloads below this many bytes go out as they are: they would hardly shrink.
    private static let payloadBytesMin = 128

    private let deflater = Deflater(.init(noContextTakeover: true, windowBits: 15))
    /// The last run and what became of it; a change goes to one connection after the other.
    private var last: (source: SharedBytes, range: Range<Int>, frames: SharedBytes)?
    private let outbound: OutboundMemory

    package init(outbound: OutboundMemory) { self.outbound = outbound }

    /// Whether a connection's agreement allows what this compressor makes.
    package func serves(_ parameters: DeflateParameters) -> Bool { deflater.serves(parameters, from: .server) }

    /// The frames of `range`, compressed where that makes them smaller.
    package func frames(_ source: SharedBytes, _ range: Range<Int>) -> SharedBytes {
        if let last, last.range == range, last.source === source { return last.frames }
        var out: [UInt8] = []
        source.bytes.withUnsafeBytes { buffer in
            var rest = UnsafeRawBufferPointer(rebasing: buffer[range])
            while let frame = ServerFrame(rest) {
                append(frame, to: &out)
                rest = UnsafeRawBufferPointer(rebasing: rest[frame.whole.count...])
            }
        }
        let frames = SharedBytes(out, in: outbound)
        last = (source, range, frames)
        return frames
    }

    /// Lets go of the last run.
    package func forget() { last = nil }

    private func append(_ frame: ServerFrame, to out: inout [UInt8]) {
        if frame.opcode == .text, frame.payload.count >= Self.payloadBytesMin {
            var compressed: [UInt8] = []
            if deflater.compress(frame.payload.bytes, to: &compressed), compressed.count < frame.payload.count {
                FrameEncoder.append(.text, compressed.span.bytes, isCompressed: true, to: &out)
                return
            }
        }
        out.append(contentsOf: frame.whole)
    }
}
