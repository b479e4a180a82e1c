import HearthHTTPCodec
import HearthWebSocketCodec

/// Bytes that a server sends to the client: responses are the same however they are split. A first byte `H` makes them
/// the answers to HEAD.
public func fuzzHTTPResponses(_ bytes: UnsafeRawBufferPointer) {
    guard let first = bytes.first else { return }
    let stream = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
    expectSameTranscript { feeding, transcript in
        var decoder = ResponseDecoder(limits: fuzzedLimits)
        if first == UInt8(ascii: "H") { decoder.requestMethod = .head }
        var recorder = HTTPRecorder()
        feeding.feed(stream) { piece in
            var input = UnsafeRawBufferPointer(piece)
            while let event = decoder.next(&input) { recorder.add(event, to: &transcript, head: record) }
            precondition(input.isEmpty, "nil leaves input")
        }
        if let event = decoder.finish() { recorder.add(event, to: &transcript, head: record) }
        recorder.finish(&transcript)
    }
}

private func record(_ head: ResponseHead, _ transcript: inout Transcript) {
    transcript.add("\(head.status.code) \([head.minorVersion == 1, head.keepAlive, head.isChunked])")
    transcript.add("\(head.contentLength ?? -1)")
    transcript.add(head.reason)
    transcript.add(head.headers)
    guard head.status == .switchingProtocols else { return }
    // The nonce of RFC 6455 1.3, so that a seed can hold the answer to it.
    let nonce = Array("the sample nonce".utf8)
    let offer = DeflateOffer()
    let handshake = try? ClientHandshake(host: "x", path: "/", nonce: nonce, offers: [offer])
    let agreed = try? handshake?.verify(status: head.status.code) { head.headers.combined($0) }
    transcript.add("\(agreed as DeflateParameters?? as Any)")
}
