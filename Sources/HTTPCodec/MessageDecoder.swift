/// The events of a decoder, in this order for each message: one head, any body pieces, one end.
package enum HTTPEvent<Head> {
    case head(Head)
    /// Never empty; valid as long as the input of this call is.
    case body(UnsafeRawBufferPointer)
    /// Follows every head whose body is complete, also without a body.
    case end
    /// The last event: the stream has no boundary after it. Answer (a server) and close; all further input is dropped.
    case failure(HTTPFailure)
}

/// The part of decoding that both roles share: where heads and bodies end. The role decides the meaning of a head: it
/// answers each `.head` with `begin` or `fail`.
package struct MessageDecoder {
    package struct RawHead {
        package let bytes: [UInt8]
        package let fieldCount: Int
    }

    private enum State {
        case head
        case body(BodyDecoder, keepAlive: Bool)
        /// After a failure or the last message of a connection nothing is read as a message (RFC 9112 9.6).
        case closed
    }

    package let limits: HTTPLimits
    private var state = State.head
    private var collector = HeadCollector()

    package init(limits: HTTPLimits) { self.limits = limits }

    package var awaitsHead: Bool { if case .head = state { true } else { false } }

    package var isBetweenMessages: Bool { awaitsHead && collector.begun.isEmpty }

    /// The bytes of an incomplete head.
    package var begunHead: [UInt8] { collector.begun }

    package mutating func next(_ input: inout UnsafeRawBufferPointer) -> HTTPEvent<RawHead>? {
        switch state {
        case .head:
            guard !input.isEmpty else { return nil }
            switch collector.take(from: &input, limits: limits) {
            case .incomplete: return nil
            case .failure(let failure): return fail(failure)
            case .complete(let bytes, let lineCount):
                // The first line and the empty one are no fields.
                let fieldCount = lineCount - 2
                guard fieldCount <= limits.headerCountMax else { return fail(.tooManyHeaders) }
                return .head(RawHead(bytes: bytes, fieldCount: fieldCount))
            }
        case .body(var body, let keepAlive):
            let event = body.next(&input, limits: limits)
            state = .body(body, keepAlive: keepAlive)
            switch event {
            case .needsMore: return nil
            case .bytes(let bytes): return .body(bytes)
            case .end:
                state = keepAlive ? .head : .closed
                return .end
            case .failure(let failure): return fail(failure)
            }
        case .closed:
            input.removeFirst(input.count)
            return nil
        }
    }

    package mutating func begin(_ body: BodyDecoder, keepAlive: Bool) { state = .body(body, keepAlive: keepAlive) }

    /// The peer has closed: `.end` for a body that ends so, nil between two messages, else a failure.
    mutating func finish() -> HTTPEvent<RawHead>? {
        switch state {
        case .head where collector.begun.isEmpty, .closed:
            state = .closed
            return nil
        case .body(let body, _) where body.endsWithConnection:
            state = .closed
            return .end
        case .head, .body:
            return fail(.truncated)
        }
    }

    /// Forgets an empty line whose CR came alone.
    package mutating func dropBegunHead() { collector = HeadCollector() }

    @discardableResult
    package mutating func fail(_ failure: HTTPFailure) -> HTTPEvent<RawHead> {
        state = .closed
        collector = HeadCollector()
        return .failure(failure)
    }
}
