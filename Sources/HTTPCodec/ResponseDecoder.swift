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
        let (requestMethod, bodyBytesMax) = (requestMethod, message.limits.bodyBytesMax)
        return message.next(&input) { raw throws(HTTPFailure) in
            let (line, headers, framing) = try raw.parse { parser throws(HTTPFailure) in try parser.statusLine() }
            try framing.validate(minorVersion: line.minorVersion)
            let body = try Self.body(after: line.status, framing, of: requestMethod, bodyBytesMax)
            let head = ResponseHead(line, headers, framing, endsWithConnection: body.endsWithConnection)
            if head.status.isInterim, head.status != .switchingProtocols { return nil }
            return (head, body, head.keepAlive)
        }
    }

    /// The server has closed: `.end` for a body that ends so, nil between two responses, else a failure.
    package mutating func finish() -> HTTPEvent<ResponseHead>? { message.finish() }

    /// The rules of RFC 9112 6.3, in their order.
    private static func body(
        after status: HTTPStatus, _ framing: MessageFraming, of requestMethod: HTTPMethod, _ bodyBytesMax: Int
    ) throws(HTTPFailure) -> BodyDecoder {
        if requestMethod == .head || status.excludesBody { return .length(0) }
        if framing.isChunked { return .chunked }
        guard let length = framing.contentLength else { return .untilClose }
        guard length <= bodyBytesMax else { throw .bodyTooLarge }
        return .length(length)
    }
}
