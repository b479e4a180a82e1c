package import HearthHTTPCodec

/// Takes the requests of one connection apart (RFC 9112), in the role of the server.
///
/// Feed it the received bytes, and pull events until it needs more:
///
///     while let event = decoder.next(&input) { … }
///
/// Each call removes the used bytes from the front of `input`, so the rest shows how far the decoder is: after `.end`
/// it starts with the next, pipelined request, and after the `.end` of a request that is answered with 101 it belongs
/// to the next protocol: hand it over and drop the decoder. A caller that answers one request at a time stops pulling
/// at `.end` and keeps the rest. A nil has used all of `input`.
///
/// Costs one pass over the head and two allocations for it; body bytes are handed out where they lie. Between two
/// requests the decoder owns no heap memory.
package struct RequestDecoder {
    private var message: MessageDecoder

    package init(limits: HTTPLimits = HTTPLimits()) { message = MessageDecoder(limits: limits) }

    /// No request is under way: this decides which timeout holds.
    package var isIdle: Bool { message.isBetweenMessages }

    /// Bytes of heap memory that the decoder owns.
    package var heapBytes: Int { message.begunHead.capacity }

    package mutating func next(_ input: inout UnsafeRawBufferPointer) -> HTTPEvent<RequestHead>? {
        if message.awaitsHead, let failure = begin(&input) { return .failure(failure) }
        let bodyBytesMax = message.limits.bodyBytesMax
        return message.next(&input) { raw throws(HTTPFailure) in
            let (line, headers, framing) = try raw.parse { parser throws(HTTPFailure) in try parser.requestLine() }
            let head = try RequestHead(line, headers, framing)
            if let length = head.contentLength, length > bodyBytesMax { throw .bodyTooLarge }
            return (head, head.isChunked ? .chunked : .length(head.contentLength ?? 0), head.keepAlive)
        }
    }

    /// Skips empty lines: some clients send a CRLF too many after a body (RFC 9112 2.2). A client of another protocol
    /// is told by its first byte, so that it need not wait for a timeout.
    private mutating func begin(_ input: inout UnsafeRawBufferPointer) -> HTTPFailure? {
        if message.begunHead.count == 1, message.begunHead[0] == carriageReturn, input.first == lineFeed {
            message.dropBegunHead()
            input.removeFirst(1)
        }
        guard message.begunHead.isEmpty else { return nil }
        while input.count >= 2, input[0] == carriageReturn, input[1] == lineFeed { input.removeFirst(2) }
        guard let first = input.first, !first.isTokenByte, first != carriageReturn else { return nil }
        let failure: HTTPFailure = first == 0x16 ? .handshakeOfTLS : .malformedRequestLine
        message.close()
        return failure
    }
}
