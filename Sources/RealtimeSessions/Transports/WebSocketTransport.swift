package import HearthEventLoop
import HearthRealtimeDatabase
import HearthServerLog
package import HearthWebSocketCodec
import HearthWireProtocol
import HearthServerProtocol

/// A WebSocket that carries a session, or waits to take it over from long polling: decodes frames and joins them to
/// messages.
package final class WebSocketTransport: StreamHandler, SessionSocket {
    private enum Role {
        case carrier
        /// Long polling carries the session; pings are answered here.
        case standby
        /// The client continues here. Its next messages wait for the end of those that it sent by long polling.
        case waiting
    }

    let session: RealtimeSession
    // Safe because: the stream keeps its handler and tells it when it ends.
    private unowned(unsafe) let stream: Stream
    let output: WebSocketOutput
    private unowned let context: LoopContext
    private var role: Role
    private var decoder: WebSocketDecoder
    private var joiner: FrameJoiner
    private var goodbye = CloseHandshake(role: .server)
    /// Bytes that are not decoded yet, because no more requests may be made: those from `unreadStart` on.
    private var unread: [UInt8] = []
    private var unreadStart = 0
    /// A large message of which a part has come, with the unread bytes.
    private var partial: PartialMessage?
    /// Present once a message has expanded a lot.
    private var expansion: ExpansionBudget?
    /// Of the decoder, as far as it is accounted for.
    private var expandedBytes = 0
    /// Runs while the next messages have to wait because those before have expanded too much.
    private var expansionTimer: Timer?
    /// Gives the client time until its next sign of life.
    private var patience: SilencePatience

    /// - parameter standsBy: long polling carries the session, and this waits to take over. Otherwise ``begin`` comes
    ///   next.
    package init(
        _ stream: Stream, _ session: RealtimeSession, deflate: DeflateParameters? = nil, standsBy: Bool = false
    ) {
        self.stream = stream
        self.session = session
        let context = session.context
        self.context = context
        role = standsBy ? .standby : .carrier
        let limits = context.services.configuration.connectionLimits
        patience = SilencePatience(timeout: limits.realtimeTimeout)
        decoder = WebSocketDecoder(
            role: .server, limits: .init(frameSizeMax: limits.messageBytesMax, messageSizeMax: limits.messageBytesMax),
            deflate: deflate, validatesUTF8: false)
        output = WebSocketOutput(
            stream: stream, compresses: deflate.map { context.compressor.serves($0) } ?? false)
        joiner = FrameJoiner(bytesMax: limits.messageBytesMax)
        stream.handler = self
        extendTimeout()
        if standsBy { session.admit(self) }
    }

    /// Begins a new session.
    ///
    /// - parameter host: the client's name for this server.
    package func begin(host: [UInt8]) { session.begin(on: .webSocket(self), host: host) }

    // MARK: Receiving

    private var isHeld: Bool {
        switch role {
        case .carrier: session.isPaused || isThrottled
        case .standby: isThrottled
        case .waiting: true
        }
    }

    private var isThrottled: Bool { expansionTimer?.isArmed == true }

    /// Lets a connection wait whose messages cost much more than they bring.
    private func accountForExpansion() {
        let bytes = decoder.expandedBytes - expandedBytes
        if bytes == 0 { return }
        expandedBytes += bytes
        let now = context.loop.now
        let rate = context.services.configuration.connectionLimits.expandedBytesPerConnection
        var own = expansion ?? ExpansionBudget(bytesPerSecond: rate, now: now)
        let wait = max(own.use(bytes, now: now), context.expansion.use(bytes, now: now))
        expansion = own
        guard wait > .zero else { return }
        let timer = expansionTimer ?? context.loop.makeTimer { [unowned self] in readOn() }
        expansionTimer = timer
        timer.arm(after: wait)
        stream.pauseReading()
    }

    package func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
        if goodbye.maySend { extendTimeout() }
        let used = unread.isEmpty ? read(bytes) : 0
        unread.append(contentsOf: bytes[used...])
        accountForPart(bytes.count)
    }

    /// Decodes until there are as many requests as may be. Answers how many bytes it used.
    private func read(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
        var input = bytes
        // Bytes after a close frame are only searched for the answer to it.
        defer { accountForExpansion() }
        while !isHeld || !goodbye.maySend, let event = decoder.next(&input) {
            accountForExpansion()
            switch event {
            case .message(_, let payload): receive(payload)
            case .ping(let payload):
                if goodbye.maySend { sendFrame(.pong, payload) }
            case .pong: break
            case .close(let code, _): follow(goodbye.received(code))
            case .failure(let violation):
                context.services.log.info("connection.protocol-error", [("reason", "\(violation.reason)")])
                follow(goodbye.failed(violation))
            }
        }
        return bytes.count - input.count
    }

    /// Continues with the held-back bytes.
    func readOn() {
        if !unread.isEmpty {
            var bytes = unread
            let start = unreadStart
            unread = []
            unreadStart = 0
            let used = bytes.withUnsafeMutableBytes { read(UnsafeMutableRawBufferPointer(rebasing: $0[start...])) }
            if start + used < bytes.count {
                unread = bytes
                unreadStart = start + used
            }
            accountForPart(used)
        }
        if !isHeld { stream.resumeReading() }
    }

    /// Large messages count while they come in, too.
    ///
    /// - parameter received: bytes that have come since the last call.
    private func accountForPart(_ received: Int) {
        let bytes = decoder.heapBytes + joiner.heapBytes + unread.count - unreadStart
        guard bytes >= RequestMemory.partBytesMin, stream.isOpen else { return endPart() }
        let part = partial ?? makePart()
        partial = part
        if !part.received(received, holding: bytes) {
            close(.tryAgainLater, reason: "the server has no room for large messages")
        }
    }

    private func makePart() -> PartialMessage {
        context.makePart(of: session.origin.client) { [unowned self] in
            !isHeld && stream.isWritable
        } fellBehind: { [unowned self] in
            close(.policyViolation, reason: "the message comes too slowly")
        }
    }

    private func endPart() {
        partial?.end()
        partial = nil
    }

    private func receive(_ frame: UnsafeRawBufferPointer) {
        guard goodbye.maySend else { return }
        do throws(MessageError) {
            switch joiner.add(frame) {
            case .message: try handle(frame)
            case .joined:
                let message = joiner.takeMessage()
                if case .standby = role {
                    try message.span.bytes.withUnsafeBytes { (bytes) throws(MessageError) in try handle(bytes) }
                } else {
                    try session.handle(joined: message)
                }
            case .more: break
            case .tooLarge: close(.messageTooBig, reason: "the message is too large")
            }
        } catch {
            close(.policyViolation, reason: error.reason)
        }
    }

    private func handle(_ message: UnsafeRawBufferPointer) throws(MessageError) {
        guard case .standby = role else { return try session.handle(message) }
        guard message.count < LoopContext.besideBytesMin else {
            return close(.policyViolation, reason: "a message before the switch")
        }
        switch try ClientMessage.parse(message) {
        case .ping:
            var pong: [UInt8] = []
            ServerMessageWriter.appendPong(to: &pong)
            send(pong)
        case .switchAck:
            role = .waiting
            stream.pauseReading()
        default: close(.policyViolation, reason: "a message before the switch")
        }
    }

    // MARK: Sending

    /// Sends a message of the transport itself.
    package func send(_ message: [UInt8]) {
        guard goodbye.maySend else { return }
        var frames: [UInt8] = []
        RealtimeFrames.append(message, to: &frames)
        stream.send(shared: frames)
    }

    /// Sends a last message on a WebSocket that carries no session.
    package static func end(_ stream: Stream, after message: [UInt8], reason: String) {
        var frames: [UInt8] = []
        RealtimeFrames.append(message, to: &frames)
        FrameEncoder.appendClose(.normal, reason: reason, to: &frames)
        stream.handler = nil
        stream.send(shared: frames)
        stream.close()
    }

    private func sendFrame(_ opcode: Opcode, _ payload: UnsafeRawBufferPointer) {
        var frame: [UInt8] = []
        FrameEncoder.append(opcode, payload.bytes, to: &frame)
        // Only pushes wait.
        stream.release()
        stream.send(shared: frame)
    }

    private func extendTimeout() { stream.setTimeout(after: patience.timeout) }

    // MARK: The switch from long polling

    /// Carries the session from now on.
    func takeOver() {
        role = .carrier
        readOn()
        // It was read while it stood by.
        if isHeld { stream.pauseReading() }
    }

    // MARK: Ending

    private func close(_ code: CloseCode, reason: String) {
        if goodbye.maySend { follow(goodbye.close(code, reason: reason)) }
    }

    /// Says goodbye without waiting for the answer.
    func shut(_ code: CloseCode, reason: String) {
        close(code, reason: reason)
        stream.close()
    }

    private func follow(_ step: CloseHandshake.Step) {
        if let frame = step.send {
            if case .carrier = role { session.stopSending() }
            var bytes: [UInt8] = []
            FrameEncoder.appendClose(frame.code, reason: frame.reason, to: &bytes)
            stream.release()
            stream.send(shared: bytes)
        }
        switch step.transport {
        case .keep: break
        case .awaitPeer: stream.setTimeout(after: .seconds(5))
        case .shut: end(.local)
        }
    }

    /// The session ends at once, the stream when the peer has taken all bytes that wait for it.
    private func end(_ reason: CloseReason) {
        session.lost(self)
        stream.close(reason)
    }

    package func drained(_ stream: Stream) {
        if goodbye.maySend { extendTimeout() }
        if case .carrier = role { session.drained() }
    }

    package func timedOut(_ stream: Stream) {
        let isUnheard = isHeld && stream.outboundBytes == 0
        guard goodbye.maySend, let time = patience.more(after: stream.lastTaken, isUnheard: isUnheard) else {
            return end(.timedOut)
        }
        stream.setTimeout(after: time)
    }

    package func receivedEnd(on stream: Stream) { end(.peer) }

    package func shutdownRequested(_ stream: Stream) {
        close(.goingAway, reason: "the server is shutting down")
        end(.shutdown)
    }

    package func closed(_ stream: Stream, reason: CloseReason) {
        context.metrics.noteClosed(reason)
        endPart()
        expansionTimer?.cancel()
        session.lost(self)
        context.services.log.debug("connection.closed", [("connection", "\(session.id.raw)"), ("reason", "\(reason)")])
    }
}
