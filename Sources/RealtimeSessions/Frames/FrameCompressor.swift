import HearthEventLoop
import HearthServerCodecs
import HearthWebSocketCodec

/// Compresses frames for the connections of one loop that agreed on permessage-deflate, each run of messages once,
/// however many connections it goes to: all of them agreed that messages do not build on one another (RFC 7692 section
/// 7.1.1).
package final class FrameCompressor {
    /// Payloads below this many bytes go out as they are: they would hardly shrink.
    private static let payloadBytesMin = 128

    private let deflater = Deflater(.init(noContextTakeover: true, windowBits: 15))
    /// The last run and its compressed frames; a change goes to one connection after the other.
    private var last: (run: FramedRun, frames: SharedBytes)?
    private let outbound: OutboundMemory

    init(outbound: OutboundMemory) { self.outbound = outbound }

    /// Whether a connection's agreement allows the compression of this compressor.
    func serves(_ parameters: DeflateParameters) -> Bool { deflater.serves(parameters, from: .server) }

    /// The frames of consecutive messages, compressed where that makes them smaller.
    func frames(_ run: FramedRun) -> SharedBytes {
        if let last, last.run.messages == run.messages, last.run.source === run.source { return last.frames }
        var out: [UInt8] = []
        run.source.frames.bytes.withUnsafeBytes { buffer in
            run.forEachRange { compress(UnsafeRawBufferPointer(rebasing: buffer[$0]), to: &out) }
        }
        let frames = SharedBytes(out, in: outbound)
        last = (run, frames)
        return frames
    }

    /// Frames for one connection.
    func compress(_ frames: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        frames.withUnsafeBytes { compress($0, to: &out) }
        return out
    }

    /// Lets go of the last run.
    package func forget() { last = nil }

    private func compress(_ frames: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        var rest = frames
        while let frame = ServerFrame(rest) {
            append(frame, to: &out)
            rest = UnsafeRawBufferPointer(rebasing: rest[frame.whole.count...])
        }
    }

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
