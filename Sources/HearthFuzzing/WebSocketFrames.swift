import HearthWebSocketCodec
import HearthServerCodecs

/// Bytes of a WebSocket stream: events are the same however they are split, and messages survive being written again.
/// The first byte sets up the connection: bit 0 the role, bit 1 compression, bit 2 without context takeover, bit 3
/// unchecked UTF-8.
public func fuzzWebSocketFrames(_ bytes: UnsafeRawBufferPointer) {
    guard let setup = bytes.first else { return }
    let stream = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
    let direction = DeflateParameters.Direction(noContextTakeover: setup & 4 != 0)
    let deflate = setup & 2 != 0 ? DeflateParameters(server: direction, client: direction) : nil
    expectSameTranscript { feeding, transcript in
        // Small limits, so that a fuzzer reaches them.
        var decoder = WebSocketDecoder(
            role: setup & 1 != 0 ? .server : .client, limits: .init(frameSizeMax: 1 << 10, messageSizeMax: 1 << 12),
            deflate: deflate, validatesUTF8: setup & 8 == 0)
        feeding.feed(stream) { piece in
            var input = piece
            while let event = decoder.next(&input) {
                if feeding == .whole, case .message(let kind, let bytes) = event {
                    rewrite(kind, bytes, deflate)
                }
                record(event, isCompressed: deflate != nil, &transcript)
            }
            precondition(input.isEmpty, "nil leaves input")
        }
    }
}

private func record(_ event: WebSocketDecoder.Event, isCompressed: Bool, _ transcript: inout Transcript) {
    switch event {
    case .message(let kind, let bytes):
        transcript.add("message \(kind)")
        transcript.add(bytes)
    case .ping(let bytes):
        transcript.add("ping")
        transcript.add(bytes)
    case .pong(let bytes):
        transcript.add("pong")
        transcript.add(bytes)
    case .close(let code, let reason):
        transcript.add("close \(code?.rawValue ?? 0)")
        transcript.add(reason)
    case .failure(let violation):
        // When compressed data is broken after text that is, the pieces decide which is seen first.
        transcript.add(isCompressed ? "failure" : "\(violation)")
    }
}

/// Sends the message as a client, masked, in fragments and compressed if that is agreed, and expects to read it.
private func rewrite(_ kind: MessageKind, _ message: UnsafeRawBufferPointer, _ deflate: DeflateParameters?) {
    let message = [UInt8](message)
    var payload = message
    var isCompressed = false
    if let deflate {
        var compressed: [UInt8] = []
        isCompressed = Deflater(deflate.client).compress(message.span.bytes, to: &compressed)
        if isCompressed { payload = compressed }
    }
    var frames: [UInt8] = []
    let fragmentSize = Int(message.first ?? 0) + 1
    FrameEncoder.appendFragments(
        kind, payload.span.bytes, fragmentSize: fragmentSize, isCompressed: isCompressed, to: &frames,
        nextKey: { MaskingKey(0x1234_5678) })
    frames.withUnsafeMutableBytes { frames in
        var decoder = WebSocketDecoder(
            role: .server, limits: .init(frameSizeMax: .max, messageSizeMax: 1 << 20), deflate: deflate,
            validatesUTF8: false)
        var input = frames
        guard case .message(let copyKind, let copy) = decoder.next(&input) else {
            preconditionFailure("a written message is invalid")
        }
        precondition(copyKind == kind && copy.elementsEqual(message) && input.isEmpty, "a written message is another")
    }
}
