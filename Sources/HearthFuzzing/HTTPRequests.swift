import HearthHTTPCodec
import HearthServerCodecs

/// Bytes that a client sends to the HTTP port: requests are the same however they are split, survive being written
/// again, and can be answered or upgraded.
public func fuzzHTTPRequests(_ bytes: UnsafeRawBufferPointer) {
    expectSameTranscript { feeding, transcript in
        var decoder = RequestDecoder(limits: fuzzedLimits)
        var recorder = HTTPRecorder()
        feeding.feed(bytes) { piece in
            var input = UnsafeRawBufferPointer(piece)
            while let event = decoder.next(&input) {
                recorder.add(event, to: &transcript) { head, transcript in
                    // Once is enough for results that depend on the head alone.
                    if feeding == .whole {
                        rewrite(head)
                        answer(head)
                    }
                    record(head, &transcript)
                }
            }
            precondition(input.isEmpty, "nil leaves input")
        }
        recorder.finish(&transcript)
    }
}

private func record(_ head: RequestHead, _ transcript: inout Transcript) {
    for part in [head.methodName, head.path, head.host] { transcript.add(part) }
    for parameter in head.query {
        transcript.add(parameter.name)
        transcript.add(parameter.value)
    }
    transcript.add(head.query.first("auth") ?? [])
    let flags = [
        head.minorVersion == 1, head.keepAlive, head.isChunked, head.expectsContinue, head.isWebSocketUpgrade,
        head.headers.combined("connection") != nil,
    ]
    transcript.add("\(flags) \(head.contentLength ?? -1)")
    transcript.add(head.headers)
}

/// Writes the request line and the host again and expects to read the same.
private func rewrite(_ head: RequestHead) {
    guard let method = head.method, head.path.first == UInt8(ascii: "/") else { return }
    var target = Array(head.path)
    if !head.query.isEmpty { target += [UInt8(ascii: "?")] + head.query.bytes }
    var output: [UInt8] = []
    RequestWriter.begin(method, target: target.span, host: head.host.span, into: &output)
    RequestWriter.end(into: &output)
    output.withUnsafeBytes { written in
        var decoder = RequestDecoder()
        var input = written
        guard case .head(let copy) = decoder.next(&input) else { preconditionFailure("a written request is refused") }
        precondition(
            copy.method == method && copy.path == head.path && copy.host == head.host
                && copy.query.bytes == head.query.bytes && input.isEmpty, "a written request is another")
    }
}

/// Answers an upgrade, or else with the path as body and a field of the client's, and expects to read that.
private func answer(_ head: RequestHead) {
    var output: [UInt8] = []
    if head.isWebSocketUpgrade {
        let handshake = try? ServerHandshake(
            method: Array(head.methodName), version: (1, head.minorVersion), deflate: DeflatePolicy(),
            field: { head.headers.combined($0) })
        guard let handshake else { return }
        return expectAnswer(handshake.response, to: head) { $0.status == .switchingProtocols }
    }
    let body = Array(head.path)
    var writer = ResponseWriter(answering: head)
    writer.begin(.ok, date: HTTPDate(secondsSince1970: 0), into: &output)
    writer.header("X-Query", head.query.bytes.span, into: &output)
    writer.end(body: body.span, into: &output)
    expectAnswer(output, to: head, body: head.method == .head ? [] : body) { response in
        // A target holds neither white space nor control bytes, so the writer leaves its bytes alone.
        response.keepAlive == writer.keepAlive && response.headers.first("x-query") == head.query.bytes
    }
}

private func expectAnswer(
    _ written: [UInt8], to request: RequestHead, body: [UInt8] = [], where matches: (ResponseHead) -> Bool
) {
    written.withUnsafeBytes { written in
        var decoder = ResponseDecoder()
        decoder.requestMethod = request.method ?? .get
        var input = written
        guard case .head(let response) = decoder.next(&input) else { preconditionFailure("an answer is refused") }
        precondition(matches(response), "another answer")
        if !body.isEmpty {
            guard case .body(let read) = decoder.next(&input) else { preconditionFailure("a body is missing") }
            precondition(read.elementsEqual(body), "another body")
        }
        guard case .end = decoder.next(&input), input.isEmpty else { preconditionFailure("no end") }
    }
}
