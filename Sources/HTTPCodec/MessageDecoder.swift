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

/// The part of decoding that both roles share: where heads and bodies end. The role decides the meaning of a head.
package struct MessageDecoder {
    /// The bytes of a head.
    package struct RawHead {
        fileprivate let bytes: [UInt8]
        fileprivate let fieldCount: Int

        /// Reads the first line as `read` does, then the fields.
        package func parse<Line>(
            firstLine read: (inout HeadParser) throws(HTTPFailure) -> Line
        ) throws(HTTPFailure) -> (line: Line, headers: HeaderFields, framing: MessageFraming) {
            var framing = MessageFraming()
            let (line, positions) = try bytes.span.withUnsafeBytes { bytes throws(HTTPFailure) in
                var parser = HeadParser(bytes)
                let line = try read(&parser)
                return (line, try parser.fields(count: fieldCount, framing: &framing))
            }
            return (line, HeaderFields(bytes: bytes, positions: positions), framing)
        }
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

    /// The next event.
    ///
    /// - parameter read: makes a head of its bytes, and says how its body ends and whether further messages come. Nil
    ///   for a head that is skipped.
    package mutating func next<Head>(
        _ input: inout UnsafeRawBufferPointer,
        head read: (RawHead) throws(HTTPFailure) -> (head: Head, body: BodyDecoder, keepAlive: Bool)?
    ) -> HTTPEvent<Head>? {
        switch state {
        case .head:
            while !input.isEmpty {
                switch collector.take(from: &input, limits: limits) {
                case .incomplete: return nil
                case .failure(let failure): return fail(failure)
                case .complete(let bytes, let lineCount):
                    // The first line and the empty one are no fields.
                    let raw = RawHead(bytes: bytes, fieldCount: lineCount - 2)
                    guard raw.fieldCount <= limits.headerCountMax else { return fail(.tooManyHeaders) }
                    do throws(HTTPFailure) {
                        guard let (head, body, keepAlive) = try read(raw) else { continue }
                        state = .body(body, keepAlive: keepAlive)
                        return .head(head)
                    } catch {
                        return fail(error)
                    }
                }
            }
            return nil
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

    /// The peer has closed: `.end` for a body that ends so, nil between two messages, else a failure.
    mutating func finish<Head>() -> HTTPEvent<Head>? {
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

    private mutating func fail<Head>(_ failure: HTTPFailure) -> HTTPEvent<Head> {
        close()
        return .failure(failure)
    }

    /// Nothing more is read as a message.
    package mutating func close() {
        state = .closed
        collector = HeadCollector()
    }
}
