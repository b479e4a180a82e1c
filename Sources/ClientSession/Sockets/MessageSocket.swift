import HearthClientTransport
import HearthHTTPCodec
import HearthWebSocketCodec
import HearthWireProtocol

/// Who a socket belongs to. All calls come from the loop's thread.
protocol MessageSocketOwner: AnyObject {
    /// A whole message; the bytes are gone when the call returns.
    func received(_ message: UnsafeRawBufferPointer)

    /// Nothing is received or sent any more. Called once.
    func ended(_ error: ConnectionError)
}

/// A connection that carries whole messages: the WebSocket handshake, frames and their joining (Protocol.md 2.1, 2.3,
/// 1.6), signs of life, goodbye. Lives on one loop.
final class MessageSocket: ClientStreamHandler {
    private enum Phase {
        /// Up to the end of the server's answer to the handshake.
        case opening
        case open
        /// The owner has been told of the end; the transport may still be closing.
        case ended
    }

    private let loop: any ClientLoop
    private let options: ConnectionOptions
    /// Kept alive until the end.
    private var owner: (any MessageSocketOwner)?
    /// Nil once the transport is closed.
    private var stream: (any ClientStream)?
    private var phase = Phase.opening
    private var opening: OpeningHandshake
    private var decoder: WebSocketDecoder
    private var joiner: FrameJoiner
    private var goodbye = CloseHandshake(role: .client)
    /// Present from the hello on.
    private var keepAlive: KeepAlive?
    private var isReadingPaused = false
    private var random = SystemRandomNumberGenerator()

    private init(
        _ opening: OpeningHandshake, on loop: any ClientLoop, options: ConnectionOptions, owner: any MessageSocketOwner
    ) {
        self.loop = loop
        self.options = options
        self.owner = owner
        self.opening = opening
        let limits = WebSocketDecoder.Limits(
            frameSizeMax: options.messageBytesMax, messageSizeMax: options.messageBytesMax)
        // The text of a message is checked where it is read as JSON.
        decoder = WebSocketDecoder(role: .client, limits: limits, validatesUTF8: false)
        joiner = FrameJoiner(bytesMax: options.messageBytesMax)
    }

    /// Connects. Nil if that failed at once; otherwise the owner gets the outcome.
    static func connect(
        to url: DatabaseURL, on loop: any ClientLoop, options: ConnectionOptions, owner: any MessageSocketOwner
    ) -> MessageSocket? {
        do {
            let opening = try OpeningHandshake(url, lastSession: options.lastSession)
            let socket = MessageSocket(opening, on: loop, options: options, owner: owner)
            socket.stream = loop.connect(
                to: options.endpoint(host: url.host, port: url.port, usesTLS: url.usesTLS), handler: socket)
            return socket
        } catch {
            owner.ended(.disconnected(.unreachable("\(error)")))
            return nil
        }
    }

    // MARK: Sending

    /// Sends a message, in as many frames as it needs.
    func send(_ message: [UInt8]) {
        guard phase == .open, goodbye.maySend else { return }
        var frames: [UInt8] = []
        message.withUnsafeBytes { bytes in
            let chunks = MessageChunks.ranges(of: bytes)
            if chunks.count > 1 { append(.text, Array(String(chunks.count).utf8).span.bytes, to: &frames) }
            for chunk in chunks { append(.text, message.span.bytes.extracting(chunk), to: &frames) }
        }
        send(frames: frames)
    }

    private func append(_ opcode: Opcode, _ payload: RawSpan, to frames: inout [UInt8]) {
        FrameEncoder.append(opcode, payload, key: makeKey(), to: &frames)
    }

    private func makeKey() -> MaskingKey { MaskingKey(UInt32(truncatingIfNeeded: random.next())) }

    private func send(frames: [UInt8]) {
        stream?.send(frames)
        keepAlive?.sent(now: loop.time)
    }

    // MARK: Receiving

    /// Stops taking bytes from the server, which will stop sending when the buffers between are full.
    func pauseReading() {
        guard !isReadingPaused else { return }
        isReadingPaused = true
        stream?.pauseReading()
    }

    func resumeReading() {
        guard isReadingPaused else { return }
        isReadingPaused = false
        keepAlive?.received(now: loop.time)
        stream?.resumeReading()
    }

    func opened(_ stream: any ClientStream) {
        stream.send(opening.request)
        stream.setTimeout(after: options.openTimeout)
    }

    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: any ClientStream) {
        keepAlive?.received(now: loop.time)
        var input = bytes
        if phase == .opening {
            let rest = readAnswer(UnsafeRawBufferPointer(bytes))
            input = UnsafeMutableRawBufferPointer(rebasing: bytes[(bytes.count - rest)...])
        }
        while let event = decoder.next(&input) { take(event) }
    }

    /// Returns how many bytes after the answer are left.
    private func readAnswer(_ bytes: UnsafeRawBufferPointer) -> Int {
        var input = bytes
        switch opening.read(&input) {
        case .incomplete: return 0
        case .accepted:
            phase = .open
            return input.count
        case .failed(let error):
            end(error)
            stream?.close()
            return 0
        }
    }

    private func take(_ event: WebSocketDecoder.Event) {
        switch event {
        case .message(.text, let payload): receive(payload)
        case .message(.binary, _): fail("a binary message", .unsupportedData)
        case .ping(let payload):
            guard goodbye.maySend else { return }
            var frame: [UInt8] = []
            append(.pong, payload.bytes, to: &frame)
            send(frames: frame)
        case .pong: break
        case .close(let code, let reason):
            let text = String(decoding: reason, as: UTF8.self)
            follow(goodbye.received(code))
            end(.disconnected(.closedByServer(code: goodbye.code.rawValue, text: text)))
        case .failure(let violation):
            follow(goodbye.failed(violation))
            end(.protocolError(violation.reason))
        }
    }

    private func receive(_ frame: UnsafeRawBufferPointer) {
        guard phase == .open else { return }
        switch joiner.add(frame) {
        case .message: owner?.received(frame)
        case .joined:
            let message = joiner.takeMessage()
            message.withUnsafeBytes { owner?.received($0) }
        case .more: break
        case .tooLarge: fail("a message is too large", .messageTooBig)
        }
    }

    // MARK: Signs of life

    /// To be called when the server has said hello.
    func startKeepAlive() {
        keepAlive = KeepAlive(options.keepAlive, now: loop.time)
        waitForTick()
    }

    private func waitForTick() {
        guard let keepAlive else { return }
        stream?.setTimeout(after: keepAlive.deadline - loop.time)
    }

    func timedOut(_ stream: any ClientStream) {
        switch phase {
        case .opening: end(.disconnected(.unreachable("the server did not answer in time")))
        case .open where keepAlive == nil: end(.disconnected(.unreachable("the server did not say hello in time")))
        case .open: return tick()
        case .ended: break
        }
        stream.close(.failed("timed out"))
    }

    private func tick() {
        // Without reading, silence says nothing.
        if isReadingPaused { keepAlive?.received(now: loop.time) }
        switch keepAlive?.tick(now: loop.time) {
        case .sendPing:
            var ping: [UInt8] = []
            ClientMessageWriter.appendPing(to: &ping)
            send(ping)
        case .sendKeepAlive: send(ClientMessageWriter.keepAlive)
        case .giveUp:
            end(.disconnected(.silent))
            stream?.abort()
            return
        case .none?, nil: break
        }
        waitForTick()
    }

    // MARK: Ending

    /// Sends a close frame, after everything that was sent before.
    func close() {
        if phase == .open { follow(goodbye.close(.normal)) } else { stream?.close() }
        end(.disconnected(.closed))
    }

    /// The server said something that makes no sense.
    func fail(_ reason: String, _ code: CloseCode = .protocolError) {
        follow(goodbye.close(code, reason: reason))
        end(.protocolError(reason))
    }

    /// The server has told why it wants to be left alone.
    func leave(because reason: DisconnectReason) {
        follow(goodbye.close(.normal))
        end(.disconnected(reason))
    }

    private func follow(_ step: CloseHandshake.Step) {
        if let frame = step.send {
            var bytes: [UInt8] = []
            FrameEncoder.appendClose(frame.code, reason: frame.reason, key: makeKey(), to: &bytes)
            send(frames: bytes)
        }
        switch step.transport {
        case .keep: break
        case .awaitPeer:
            isReadingPaused = false
            stream?.resumeReading()
            stream?.setTimeout(after: .seconds(5))
        case .shut: stream?.close()
        }
    }

    private func end(_ error: ConnectionError) {
        guard phase != .ended else { return }
        phase = .ended
        let owner = owner
        self.owner = nil
        owner?.ended(error)
    }

    func receivedEnd(on stream: any ClientStream) {
        if phase == .opening, case .failed(let error) = opening.finish() { end(error) }
        stream.close(.peer)
    }

    func shutdownRequested(_ stream: any ClientStream) {
        if phase == .open { follow(goodbye.close(.goingAway)) }
        end(.disconnected(.closed))
        stream.close(.shutdown)
    }

    func closed(_ stream: any ClientStream, because streamEnd: ClientStreamEnd) {
        self.stream = nil
        end(.disconnected(DisconnectReason(streamEnd, isEstablished: keepAlive != nil)))
    }
}

extension DisconnectReason {
    /// - parameter isEstablished: whether the server had said anything.
    init(_ end: ClientStreamEnd, isEstablished: Bool) {
        let text: String
        switch end {
        case .shutdown:
            self = .closed
            return
        case .local: text = "closed"
        case .peer: text = DisconnectReason.endedByServer
        case .failed(let reason): text = reason
        }
        self = isEstablished ? .lost(text) : .unreachable(text)
    }
}
