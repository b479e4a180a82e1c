/// Takes the responses of one connection apart (RFC 9112), in the role of the client. Feed and pull it as the
/// `RequestDecoder`; call `finish` when the server has closed its side.
///
/// Interim responses (1xx) are skipped, except 101: its head is an event, `.end` follows, and the rest of the input
/// belongs to the next protocol.
package struct ResponseDecoder {
    /// The method of the request that is answered next; set it before the first byte of the answer is fed. The answer
    /// to a HEAD has no body, regardless of its fields.
    package var requestMethod = HTTPMethod.get

    private var message: MessageDecoder

    /// A stream of events has no end: give it a `bodyBytesMax` of `Int.max`.
    package init(limits: HTTPLimits = HTTPLimits()) { message = MessageDecoder(limits: limits) }

    package mutating func next(_ input: inout UnsafeRawBufferPointer) -> HTTPEvent<ResponseHead>? {
        while true {
            switch message.next(&input) {
            case nil: return nil
            case .body(let bytes): return .body(bytes)
            case .end: return .end
            case .failure(let failure): return .failure(failure)
            case .head(let raw):
                do throws(HTTPFailure) {
                    let (head, body) = try decode(raw)
                    if head.status.isInterim, head.status != .switchingProtocols { continue }
                    message.begin(body, keepAlive: head.keepAlive)
                    return .head(head)
                } catch {
                    message.fail(error)
                    return .failure(error)
                }
            }
        }
    }

    /// The server has closed: `.end` for a body that ends so, nil between two responses, else a failure.
    package mutating func finish() -> HTTPEvent<ResponseHead>? {
        switch message.finish() {
        case .end: .end
        case .failure(let failure): .failure(failure)
        case .head, .body, nil: nil
        }
    }

    private func decode(_ raw: MessageDecoder.RawHead) throws(HTTPFailure) -> (ResponseHead, BodyDecoder) {
        var framing = MessageFraming()
        let (line, positions) = try raw.bytes.span.withUnsafeBytes { bytes throws(HTTPFailure) in
            var parser = HeadParser(bytes)
            let line = try parser.statusLine()
            return (line, try parser.fields(count: raw.fieldCount, framing: &framing))
        }
        try framing.validate(minorVersion: line.minorVersion)
        let body = try bodyDecoder(line.status, framing)
        let headers = HeaderFields(bytes: raw.bytes, positions: positions)
        return (ResponseHead(line, headers, framing, endsWithConnection: body.endsWithConnection), body)
    }

    /// The rules of RFC 9112 6.3, in their order.
    private func bodyDecoder(
        _ status: HTTPStatus, _ framing: MessageFraming
    ) throws(HTTPFailure) -> BodyDecoder {
        if requestMethod == .head || status.excludesBody { return .length(0) }
        if framing.isChunked { return .chunked }
        guard let length = framing.contentLength else { return .untilClose }
        guard length <= message.limits.bodyBytesMax else { throw .bodyTooLarge }
        return .length(length)
    }
}
