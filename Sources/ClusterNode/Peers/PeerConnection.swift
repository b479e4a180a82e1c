import HearthEventLoop
import HearthSystem

/// Gets the events of connections between nodes, on the thread of their loop.
protocol PeerConnectionHandler: AnyObject {
    /// Both sides have proved themselves, and the other one has sent its greeting.
    func greeted(_ greeting: PeerConnection.Greeting, on connection: PeerConnection)
    /// The other side wants a copy of a database.
    func asked(for request: CopyRequest, on connection: PeerConnection)
    /// A frame of a ``LinkSession``.
    func received(_ frame: ArraySlice<UInt8>, on connection: PeerConnection)
    /// The stream takes more again.
    func drained(_ connection: PeerConnection)
    func ended(_ connection: PeerConnection, _ end: PeerConnection.End)
}

/// A connection between two nodes: the handshake, then frames with codes. On the thread of its loop.
///
/// ```
/// handshake = size:4 message                                PeerHandshake.swift; at most 1 KiB
/// frame     = size:4 code:16 body                           `size` is that of the body
/// ```
/// The first body of either side is its greeting; all later ones are frames of a ``LinkSession``. A caller that wants a
/// copy of a database sends a ``CopyRequest`` instead; then all later bodies are ``CopyPiece``s of the called side.
final class PeerConnection: StreamHandler {
    enum End: Error {
        /// The network, or the other side, has closed it.
        case closed(CloseReason)
        case handshake(PeerHandshake.Failure)
        /// The other side does not keep to the protocol.
        case violation
    }

    /// The first message of a side after both have proved themselves.
    struct Greeting: Hashable {
        /// The last message that it has received over the link.
        var received: UInt64
        /// Of the caller: the link has never been connected. Of the called side: it knows the link.
        var flag: Bool

        var bytes: [UInt8] { withUnsafeBytes(of: received.bigEndian) { Array($0) } + [flag ? 1 : 0] }

        init(received: UInt64, flag: Bool) { (self.received, self.flag) = (received, flag) }

        init?(_ bytes: ArraySlice<UInt8>) {
            guard bytes.count == 9, let last = bytes.last, last <= 1 else { return nil }
            received = bytes.dropLast().reduce(0) { $0 << 8 | UInt64($1) }
            flag = last == 1
        }
    }

    private enum State {
        case awaitingCaller
        case awaitingCalled
        case awaitingProof(PeerHandshake.Hello)
        case awaitingGreeting
        case established
        case ended
    }

    /// One that is larger is refused.
    static let messageBytesMax = 64 << 20
    private static let handshakeBytesMax = 1 << 10
    /// A message of the largest size, with its frame.
    private static let frameBytesMax = messageBytesMax + (1 << 20)

    let isCaller: Bool
    private var own: PeerHandshake.Hello
    private var secret: ClusterSecret
    private let handshakeTimeout: Duration
    /// Where the caller is; nil for the caller.
    let callerAddress: SocketAddress?
    /// Of the called side, or the caller.
    private(set) var other: PeerHandshake.Hello?
    private let greeting: Greeting?
    private var state: State
    private weak var stream: Stream?
    private var input: [UInt8] = []
    private var codes: (out: FrameCodes, in: FrameCodes)?
    private(set) var lastHeard = MonotonicTime.current
    private(set) var lastSent = MonotonicTime.current
    private weak var handler: (any PeerConnectionHandler)?

    /// - parameter greeting: that of the caller; nil for the called side, which answers one.
    init(
        _ own: PeerHandshake.Hello, _ secret: ClusterSecret, greeting: Greeting?, _ times: PeerTimes,
        _ handler: any PeerConnectionHandler, from callerAddress: SocketAddress? = nil
    ) {
        isCaller = greeting != nil
        self.callerAddress = callerAddress
        self.own = own
        self.secret = secret
        handshakeTimeout = times.handshakeTimeout
        self.greeting = greeting
        self.handler = handler
        state = greeting == nil ? .awaitingCaller : .awaitingCalled
    }

    /// Both sides know the messages by which nodes follow each other.
    var knowsFeeds: Bool { isEstablished && (isCaller ? other?.version ?? 0 : own.version) >= 2 }

    /// It is established, and the stream takes more.
    var isWritable: Bool { if case .established = state { stream?.isWritable ?? false } else { false } }

    var isEstablished: Bool { if case .established = state { true } else { false } }

    // MARK: Sending

    private func sendPlain(_ message: [UInt8]) { stream?.send(shared: Self.sized(message.count) + message) }

    /// The bytes of a frame before its body.
    static let frameHeadSize = 4 + FrameCodes.size

    /// Sends a frame whose first ``frameHeadSize`` bytes are still to be set.
    func send(frame: consuming [UInt8]) {
        guard let code = codes?.out.next(frame[Self.frameHeadSize...]) else { return }
        frame.replaceSubrange(..<Self.frameHeadSize, with: Self.sized(frame.count - Self.frameHeadSize) + code)
        lastSent = .current
        stream?.send(shared: frame)
    }

    func send(_ body: [UInt8]) {
        guard let code = codes?.out.next(body[...]) else { return }
        lastSent = .current
        stream?.send(shared: Self.sized(body.count) + code)
        stream?.send(shared: body)
    }

    private static func sized(_ count: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(count).bigEndian) { Array($0) } }

    /// The called side's answer to a greeting.
    func welcome(_ greeting: Greeting) {
        send(greeting.bytes)
        establish()
    }

    private func establish() {
        state = .established
        stream?.clearTimeout()
    }

    func abort() {
        state = .ended
        stream?.abort()
    }

    /// Sends the staged bytes, and ends.
    func close() {
        state = .ended
        stream?.close()
    }

    // MARK: Receiving

    func opened(_ stream: Stream) {
        if case .ended = state { return stream.abort() }
        self.stream = stream
        stream.setTimeout(after: handshakeTimeout)
        lastHeard = .current
        if isCaller { sendPlain(PeerHandshake.message(from: own)) }
    }

    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
        lastHeard = .current
        input.append(contentsOf: bytes)
        var offset = 0
        while let next = frameRange(at: offset) {
            guard case .ended = state else {
                take(next)
                offset = next.upperBound
                continue
            }
            break
        }
        input.removeFirst(min(offset, input.count))
        if case .ended = state { input = [] }
    }

    private var hasCodes: Bool {
        switch state {
        case .awaitingGreeting, .established: true
        case .awaitingCaller, .awaitingCalled, .awaitingProof, .ended: false
        }
    }

    /// The next whole message or frame, without its size.
    private func frameRange(at offset: Int) -> Range<Int>? {
        if case .ended = state { return nil }
        guard input.count - offset >= 4 else { return nil }
        let size = input[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        guard size <= (hasCodes ? Self.frameBytesMax : Self.handshakeBytesMax) else {
            end(.violation)
            return nil
        }
        let start = offset + 4
        let end = start + size + (hasCodes ? FrameCodes.size : 0)
        return end <= input.count ? start..<end : nil
    }

    private func take(_ range: Range<Int>) {
        let message = input[range]
        do throws(PeerHandshake.Failure) {
            switch state {
            case .awaitingCaller:
                let caller = try PeerHandshake.caller(message)
                other = caller
                own.version = min(own.version, caller.version)
                sendPlain(PeerHandshake.message(from: own, to: caller, secret))
                state = .awaitingProof(caller)
            case .awaitingProof(let caller):
                try PeerHandshake.check(message, of: caller, to: own, secret)
                setCodes(PeerHandshake.key(caller, own, secret))
            case .awaitingCalled:
                let called = try PeerHandshake.called(message, by: own, &secret)
                other = called
                sendPlain(PeerHandshake.proof(of: own, to: called, secret))
                setCodes(PeerHandshake.key(own, called, secret))
                if let greeting { send(greeting.bytes) }
            case .awaitingGreeting, .established: takeFrame(message)
            case .ended: break
            }
        } catch {
            end(.handshake(error))
        }
    }

    private func setCodes(_ key: [UInt8]) {
        codes = (FrameCodes(key: key, isOfCaller: isCaller), FrameCodes(key: key, isOfCaller: !isCaller))
        state = .awaitingGreeting
    }

    private func takeFrame(_ message: ArraySlice<UInt8>) {
        let body = message.dropFirst(FrameCodes.size)
        guard codes?.in.check(message.prefix(FrameCodes.size), body) == true else { return end(.violation) }
        if case .established = state {
            handler?.received(body, on: self)
        } else if !isCaller, let request = CopyRequest(body) {
            establish()
            handler?.asked(for: request, on: self)
        } else if let greeting = Greeting(body) {
            if isCaller { establish() }
            handler?.greeted(greeting, on: self)
        } else {
            end(.violation)
        }
    }

    // MARK: The end

    /// Ends it at once, because of the other side.
    func end(_ end: End) {
        if case .ended = state { return }
        abort()
        handler?.ended(self, end)
    }

    func drained(_ stream: Stream) { handler?.drained(self) }

    func receivedEnd(on stream: Stream) { end(.closed(.peer)) }

    func closed(_ stream: Stream, reason: CloseReason) {
        if case .ended = state { return }
        state = .ended
        handler?.ended(self, .closed(reason))
    }
}
