import HearthBytes

/// Reads the frames of one connection (RFC 6455 section 5, RFC 7692 section 6): bytes go in as they were read, in any
/// pieces, messages and control frames come out.
///
///     var input = bytesJustRead
///     while let event = decoder.next(&input) { … }
///
/// Owned by one connection and not shared. Costs no memory beyond its own size while no frame is half read and no
/// message half received, except the window of a peer that compresses with context takeover.
package struct WebSocketDecoder: ~Copyable {
    /// An event in the peer's bytes. Its bytes are valid until the next call of `next`: they lie in the input where a
    /// frame came whole, otherwise in memory of the decoder.
    package enum Event {
        /// A whole message: unmasked, joined, decompressed, and UTF-8 if it is text and that is checked.
        case message(MessageKind, UnsafeRawBufferPointer)
        /// To be answered with a pong of the same bytes.
        case ping(UnsafeRawBufferPointer)
        case pong(UnsafeRawBufferPointer)
        /// The last event of an orderly connection. The code is nil if the frame held none; the reason is UTF-8.
        case close(CloseCode?, reason: UnsafeRawBufferPointer)
        /// The last event of a connection that is to be failed (RFC 6455 section 7.1.7).
        case failure(ProtocolViolation)
    }

    /// Sizes that a peer may not exceed; checked when a header is read, for compressed messages while inflating.
    package struct Limits: Sendable {
        /// Bytes of payload in one frame, as it is on the wire.
        package let frameSizeMax: Int
        /// Bytes of a message, joined and decompressed. A compressed message may have any size on the wire.
        package let messageSizeMax: Int
        /// A compressed message may expand to `expandedFreely` bytes, or to so many times its size on the wire.
        package let expansionMax: Int
        package let expandedFreely: Int

        package init(
            frameSizeMax: Int, messageSizeMax: Int, expansionMax: Int = 100, expandedFreely: Int = 1 << 20
        ) {
            self.expansionMax = expansionMax
            self.expandedFreely = expandedFreely
            self.frameSizeMax = frameSizeMax
            // One more is counted while inflating.
            self.messageSizeMax = min(messageSizeMax, Int.max - 1)
        }
    }

    /// The message whose fragments are coming.
    private struct Message {
        var kind: MessageKind
        var isCompressed: Bool
        /// Bytes of it that came, as they are on the wire.
        var wireBytes = 0
        var utf8 = UTF8Validator()
    }

    private let rules: FrameHeader.Rules
    private let limits: Limits
    private let validatesUTF8: Bool
    /// The peer's direction, if compression was agreed.
    private let compression: DeflateParameters.Direction?
    /// Present while it has something to remember: a message under way, or the window of the messages before.
    private var inflater: Inflater?
    /// Bytes that compressed messages expanded to beyond ``expansionFree`` times their sizes, over all messages.
    package private(set) var expandedBytes = 0
    /// Text expands so much; expansion beyond it is work that a peer gets for little.
    private static let expansionFree = 8

    /// The first bytes of a header that did not come whole.
    private var header: (UInt64, UInt64) = (0, 0)
    private var headerCount = 0

    /// The frame whose payload is being read; nil between frames.
    private var frame: FrameHeader?
    /// Payload bytes of `frame` that have not come yet.
    private var remaining = 0
    private var message: Message?
    /// Payload of `message`, unless it comes in one piece.
    private var messageBytes = HeapBuffer()
    /// Payload of a control frame that did not come whole.
    private var controlBytes = HeapBuffer()
    /// Whether the last event's bytes may lie in one of the buffers.
    private var handedOut = false
    private var isFinished = false

    /// - Parameters:
    ///   - role: which end of the connection reads.
    ///   - deflate: the agreement of the handshake, if there is one.
    ///   - validatesUTF8: false to let invalid text pass. The realtime endpoint needs that: some clients split a
    ///     message between frames inside of a character (Protocol.md 3.2).
    package init(role: WebSocketRole, limits: Limits, deflate: DeflateParameters? = nil, validatesUTF8: Bool = true) {
        rules = FrameHeader.Rules(isMasked: role == .server, allowsCompression: deflate != nil)
        self.limits = limits
        self.validatesUTF8 = validatesUTF8
        compression = deflate.map { role == .server ? $0.client : $0.server }
    }

    /// Bytes of memory held beyond the decoder's own size, about.
    package var heapBytes: Int {
        messageBytes.capacity + controlBytes.capacity + (inflater?.heapBytes ?? 0)
    }

    /// The next event that `input` completes, or nil when all of it is used up. Takes the bytes that it reads off the
    /// front of `input` and may unmask them in place. After a close frame or a failure the rest of the stream is passed
    /// over.
    ///
    /// Cost: unmasking and checking, at memory speed for ASCII; copies only messages that come in pieces.
    package mutating func next(_ input: inout UnsafeMutableRawBufferPointer) -> Event? {
        if handedOut { releaseHandedOut() }
        guard !isFinished else {
            _ = Self.take(input.count, from: &input)
            return nil
        }
        do throws(ProtocolViolation) {
            while true {
                if frame == nil {
                    guard let header = try nextHeader(&input) else { return nil }
                    try begin(header)
                }
                guard let frame else { return nil }
                let event = frame.opcode.isControl ? try control(frame, &input) : try data(frame, &input)
                if let event { return event }
                if remaining > 0 { return nil }
            }
        } catch {
            finish()
            return .failure(error)
        }
    }

    // MARK: Headers

    /// The next header, if it is whole now; otherwise its bytes are kept.
    private mutating func nextHeader(
        _ input: inout UnsafeMutableRawBufferPointer
    ) throws(ProtocolViolation) -> FrameHeader? {
        if headerCount == 0, let whole = try FrameHeader(UnsafeRawBufferPointer(input), rules: rules) {
            _ = Self.take(whole.size, from: &input)
            return whole
        }
        while !input.isEmpty {
            // No header has more than 14 bytes.
            let (byte, index) = (Self.take(1, from: &input)[0], headerCount)
            withUnsafeMutableBytes(of: &header) { $0[index] = byte }
            headerCount += 1
            let whole = try withUnsafeBytes(of: header) { bytes throws(ProtocolViolation) in
                try FrameHeader(UnsafeRawBufferPointer(rebasing: bytes[..<headerCount]), rules: rules)
            }
            guard let whole else { continue }
            headerCount = 0
            return whole
        }
        return nil
    }

    /// Starts a frame if its kind and size are allowed here.
    private mutating func begin(_ header: FrameHeader) throws(ProtocolViolation) {
        switch header.opcode {
        case .close, .ping, .pong:
            break
        case .continuation:
            guard message != nil else { throw .unexpectedContinuation }
        case .text, .binary:
            guard message == nil else { throw .expectedContinuation }
            let kind: MessageKind = header.opcode == .text ? .text : .binary
            message = Message(kind: kind, isCompressed: header.isCompressed)
        }
        guard header.payloadSize <= limits.frameSizeMax else { throw .frameTooLarge }
        if !header.opcode.isControl, let message, !message.isCompressed {
            guard header.payloadSize <= limits.messageSizeMax - messageBytes.count else { throw .messageTooLarge }
        }
        frame = header
        remaining = header.payloadSize
    }

    // MARK: Payloads

    /// Takes the available part of the frame's payload off the input and unmasks it.
    private mutating func payload(
        _ frame: FrameHeader, _ input: inout UnsafeMutableRawBufferPointer
    ) -> UnsafeRawBufferPointer {
        let part = Self.take(min(remaining, input.count), from: &input)
        if let key = frame.key { key.advanced(by: frame.payloadSize - remaining).apply(to: part) }
        remaining -= part.count
        return UnsafeRawBufferPointer(part)
    }

    /// Reads on in a frame of a message; an event if that completes the message.
    private mutating func data(
        _ frame: FrameHeader, _ input: inout UnsafeMutableRawBufferPointer
    ) throws(ProtocolViolation) -> Event? {
        let part = payload(frame, &input)
        let endsFrame = remaining == 0
        let endsMessage = endsFrame && frame.isFinal
        guard let message else { throw .unexpectedContinuation }
        if endsFrame { self.frame = nil }

        if message.isCompressed {
            try inflate(part, endsMessage: endsMessage)
        } else {
            try validate(part, endsMessage: endsMessage)
            if endsMessage, messageBytes.count == 0 {
                self.message = nil
                return .message(message.kind, part)
            }
            messageBytes.append(part, expecting: remaining)
        }
        guard endsMessage else { return nil }
        self.message = nil
        handedOut = true
        return .message(message.kind, messageBytes.bytes)
    }

    /// Appends the expanded bytes of a piece of a compressed message.
    private mutating func inflate(_ part: UnsafeRawBufferPointer, endsMessage: Bool) throws(ProtocolViolation) {
        guard let compression else { throw .reservedBits }
        if inflater == nil { inflater = try Inflater(windowBits: compression.windowBits) }
        guard let inflater else { return }
        let before = messageBytes.count
        message?.wireBytes += part.count
        let expandedMax = max((message?.wireBytes ?? 0) * limits.expansionMax, limits.expandedFreely)
        do throws(ProtocolViolation) {
            try inflater.inflate(part, into: &messageBytes, limit: min(limits.messageSizeMax, expandedMax))
        } catch {
            expandedBytes += messageBytes.count - before
            throw error == .messageTooLarge && expandedMax < limits.messageSizeMax ? .expandsTooMuch : error
        }
        expandedBytes += max(messageBytes.count - before - Self.expansionFree * part.count, 0)
        if endsMessage {
            try inflater.endMessage(into: &messageBytes, limit: limits.messageSizeMax)
            if compression.noContextTakeover { self.inflater = nil }
        }
        try validate(UnsafeRawBufferPointer(rebasing: messageBytes.bytes[before...]), endsMessage: endsMessage)
    }

    /// Checks the next piece of a text.
    private mutating func validate(_ part: UnsafeRawBufferPointer, endsMessage: Bool) throws(ProtocolViolation) {
        guard validatesUTF8, message?.kind == .text else { return }
        guard message?.utf8.append(part) == true, !endsMessage || message?.utf8.isComplete == true else {
            throw .textNotUTF8
        }
    }

    /// Reads on in a control frame; an event if that completes it.
    private mutating func control(
        _ frame: FrameHeader, _ input: inout UnsafeMutableRawBufferPointer
    ) throws(ProtocolViolation) -> Event? {
        var bytes = payload(frame, &input)
        if bytes.count < frame.payloadSize {
            controlBytes.append(bytes, expecting: remaining)
            guard remaining == 0 else { return nil }
            bytes = controlBytes.bytes
            handedOut = true
        }
        self.frame = nil
        switch frame.opcode {
        case .ping: return .ping(bytes)
        case .pong: return .pong(bytes)
        default: return try close(bytes)
        }
    }

    /// Reads the payload of a close frame (RFC 6455 section 5.5.1).
    private mutating func close(_ bytes: UnsafeRawBufferPointer) throws(ProtocolViolation) -> Event {
        guard bytes.count != 1 else { throw .truncatedCloseCode }
        var code: CloseCode?
        if bytes.count >= 2 {
            let sent = CloseCode(rawValue: UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
            guard sent.mayBeSent else { throw .invalidCloseCode }
            code = sent
        }
        let reason = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(2))
        var utf8 = UTF8Validator()
        guard utf8.append(reason), utf8.isComplete else { throw .closeReasonNotUTF8 }
        isFinished = true
        return .close(code, reason: reason)
    }

    // MARK: Ends

    private mutating func releaseHandedOut() {
        handedOut = false
        if message == nil { messageBytes.release() }
        if frame == nil { controlBytes.release() }
    }

    private mutating func finish() {
        isFinished = true
        messageBytes.release()
        controlBytes.release()
        inflater = nil
        message = nil
    }

    /// Takes `count` bytes, no more than there are, off the front of `input`.
    private static func take(
        _ count: Int, from input: inout UnsafeMutableRawBufferPointer
    ) -> UnsafeMutableRawBufferPointer {
        let taken = UnsafeMutableRawBufferPointer(rebasing: input[..<count])
        input = UnsafeMutableRawBufferPointer(rebasing: input[count...])
        return taken
    }
}
