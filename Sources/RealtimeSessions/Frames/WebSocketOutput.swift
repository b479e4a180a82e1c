import HearthDelivery
import HearthEventLoop

/// The sending half of a WebSocket, which its session uses without a call through the transport.
struct WebSocketOutput {
    // Safe because: the transport is told when its stream ends, and ends the session.
    unowned(unsafe) let stream: Stream
    /// Frames are compressed.
    let compresses: Bool

    /// Sends messages that many sessions may share.
    func send(_ run: FramedRun, _ compressor: FrameCompressor) {
        if compresses {
            let frames = compressor.frames(run)
            stream.send(shared: frames, 0..<frames.count)
        } else {
            run.forEachRange { stream.send(shared: run.source.frames, $0) }
        }
    }

    /// Sends messages of the session itself.
    func send(_ messages: [[UInt8]], _ compressor: FrameCompressor) {
        var frames: [UInt8] = []
        for message in messages { RealtimeFrames.append(message, to: &frames) }
        send(frames: frames, compressor)
    }

    /// Sends a part of a message that comes in several.
    func send(_ part: SnapshotStream.MessagePart, _ compressor: FrameCompressor) {
        var frames: [UInt8] = []
        RealtimeFrames.append(part, to: &frames)
        send(frames: frames, compressor)
    }

    private func send(frames: [UInt8], _ compressor: FrameCompressor) {
        stream.send(shared: compresses ? compressor.compress(frames) : frames)
    }
}
