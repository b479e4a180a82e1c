import HearthBytes
import HearthDelivery
import HearthServerLog
import HearthSystem
import HearthEventLoop
package import HearthHTTPCodec
import HearthRealtimeDatabase
import HearthWireProtocol
import HearthServerProtocol

/// The connection of a poll, which is answered once there is something to say.
package protocol PollingConnection: AnyObject {
    func answerPoll(_ script: [UInt8])
}

/// Long polling that carries a session (long-polling.md 2): the client's messages come in segments on its polls, and
/// those that wait for it go out as the answer to one. Polls come on any connections; these are moved to the loop of
/// the session first.
///
/// Everything is answered at the end of a turn, by ``flush()``.
package final class LongPollTransport: SessionPolls {
    private struct Poll {
        let connection: any PollingConnection
        /// Grows from poll to poll.
        let serial: Int
        /// The beginning of the script.
        var prelude: [UInt8] = []
    }

    private enum State {
        case serving
        /// The client sends nothing more; pending output is still sent to it.
        case clientEnded
        /// A WebSocket has taken over: the waiting messages are the last.
        case finishing
        /// The session is over.
        case closed
    }

    let id: ConnectionID
    package let password: [UInt8]
    private unowned let context: LoopContext
    private let token: SessionToken
    private var session: RealtimeSession?
    private var state = State.serving
    private var segments: SegmentJoiner
    private let client: Client
    private var partial: PartialMessage?
    private var output = PollOutput()
    private let outputClaim: OutboundClaim
    /// The poll that waits for something to say.
    private var open: Poll?
    /// Those that are answered next, whether or not there is something to say.
    private var due: [Poll] = []
    private var timer: Timer?
    private var isFlushPosted = false
    /// Called when the session is over: the polls are not known any more.
    private let forget: (ConnectionID) -> Void

    private var limits: ConnectionLimits { context.services.configuration.connectionLimits }

    init(_ session: RealtimeSession, forget: @escaping (ConnectionID) -> Void) {
        self.forget = forget
        self.session = session
        id = session.id
        token = session.token
        client = session.origin.client
        context = session.context
        outputClaim = OutboundClaim(in: context.loop.outbound)
        password = SessionToken.password(16)
        // Four characters for three bytes.
        segments = SegmentJoiner(bytesMax: context.services.configuration.connectionLimits.messageBytesMax / 3 * 4)
        timer = context.loop.makeTimer { [unowned self] in timedOut() }
    }

    /// Begins a new session, after ``start(_:callback:)``.
    ///
    /// - parameter host: the client's name for this server.
    package func begin(host: [UInt8]) { session?.begin(on: .polling(self), host: host) }

    /// Whether the client may use this.
    package func accepts(_ token: SessionToken, password: some Collection<UInt8>) -> Bool {
        self.token == token && password.elementsEqual(self.password)
    }

    // MARK: Polls

    /// The functions that all answers call, which pass everything on to those of the page around the frame.
    package static func functions(_ callback: [UInt8]?) -> [UInt8] {
        guard let callback else { return [] }
        let number = String(decoding: callback, as: UTF8.self)
        var text: [UInt8] = []
        for (name, parameters) in [("pLPCommand", "c,a1,a2,a3,a4"), ("pRTLPCB", "n,m")] {
            let function = "parent.window[\"\(name)\(number)\"]"
            text += "function \(name)(\(parameters)){\(function)&&\(function)(\(parameters));}\n".utf8
        }
        return text
    }

    /// Answers the first request: defines the functions that all answers call, which pass everything on to those of the
    /// page around the frame, and says who the client is.
    ///
    /// - parameter callback: digits that tell the functions of the page apart; nil if they are not in another window.
    package func start(_ connection: any PollingConnection, callback: [UInt8]?) {
        let prelude =
            Self.functions(callback) + "pLPCommand('start','".utf8 + token.text + "','".utf8 + password + "');\n".utf8
        due.append(Poll(connection: connection, serial: 0, prelude: prelude))
        flushLater()
    }

    /// Takes the segments of a poll, and answers it when there is something to say, or the next one has come.
    package func poll(_ query: QueryString, on connection: any PollingConnection) {
        var request = PollRequest(query)
        if case .serving = state {
            var bytes = 0
            for segment in request.takeSegments() {
                bytes += segment.text.count
                if segments.add(segment.number, of: segment.count, segment.text) { continue }
                giveUp(because: "the segments are wrong or too many")
                break
            }
            readOn(received: bytes)
        }
        // Answers must come in the order of the polls: those that overtook one another are both answered at once.
        let poll = Poll(connection: connection, serial: request.serial)
        if let other = open {
            let isInOrder = other.serial < poll.serial
            due += isInOrder ? [other] : [poll, other]
            open = isInOrder ? poll : nil
        } else {
            open = poll
        }
        setTimer()
        flushLater()
    }

    /// The connection of a poll is gone.
    package func lost(_ connection: any PollingConnection) {
        due.removeAll { $0.connection === connection }
        if open?.connection === connection { open = nil }
        setTimer()
    }

    // MARK: Receiving

    /// Takes messages for as long as there may be more requests.
    ///
    func readOn() { readOn(received: 0) }

    /// - parameter received: bytes of segments that have come since the last call.
    private func readOn(received: Int) {
        do throws(MessageError) {
            while case .serving = state, let session, !session.isPaused, let message = try segments.nextMessage() {
                try session.handle(joined: message)
            }
        } catch {
            giveUp(because: error.reason)
        }
        accountForSegments(received)
    }

    /// Segments of large messages count while they come in, too.
    private func accountForSegments(_ received: Int) {
        guard case .serving = state, segments.byteCount >= RequestMemory.partBytesMin else { return endPart() }
        let part = partial ?? makePart()
        partial = part
        if !part.received(received, holding: segments.byteCount) {
            giveUp(because: "the server has no room for large messages")
        }
    }

    private func makePart() -> PartialMessage {
        context.makePart(of: client, rateMin: limits.polledRateMin) { [unowned self] in
            session?.isPaused == false
        } fellBehind: { [unowned self] in
            giveUp(because: "a message comes too slowly")
        }
    }

    private func endPart() {
        partial?.end()
        partial = nil
    }

    // MARK: Sending

    /// The client reads. A message that has begun must be completed before it can be polled.
    var isWritable: Bool { output.isIncomplete || output.byteCount < StreamLimits().highWater }

    /// Bytes that wait for the client.
    var waitingBytes: Int { output.byteCount }

    func send(_ messages: MessageList, _ range: Range<Int>) {
        for message in range {
            messages.forEachPart(of: message) { output.append($0) }
            output.endMessage()
        }
        queued()
    }

    func send(_ messages: [[UInt8]]) {
        for message in messages {
            message.withUnsafeBytes { output.append($0) }
            output.endMessage()
        }
        queued()
    }

    func send(_ part: SnapshotStream.MessagePart) {
        part.text.withUnsafeBytes { output.append($0) }
        if part.isLast { output.endMessage() }
        queued()
    }

    private func queued() {
        outputClaim.resize(to: output.byteCount)
        if output.byteCount > limits.outboundBytesMax {
            return giveUp(because: "more waits for the client than may")
        }
        if output.hasMessages { flushLater() }
    }

    private func flushLater() {
        if isFlushPosted { return }
        isFlushPosted = true
        context.loop.atEndOfTurn(flush)
    }

    /// Answers polls; called at the end of a turn.
    private func flush() {
        isFlushPosted = false
        let wasWritable = isWritable
        var polls = due
        due = []
        for poll in polls { answer(poll) }
        if let poll = open, output.hasMessages || isOver {
            open = nil
            answer(poll)
            polls.append(poll)
        }
        outputClaim.resize(to: output.byteCount)
        // That something waits for the client is no sign of life.
        if !polls.isEmpty { setTimer() }
        if !wasWritable || output.byteCount == 0 { session?.drained() }
    }

    private func answer(_ poll: Poll) {
        var script = poll.prelude
        if case .closed = state {
            script += "pLPCommand('close');\n".utf8
        } else {
            if !isOver || output.hasMessages { script += output.takePacket() }
            // The client first takes the packets up to this one, should their answers come late.
            if isOver { script += "pLPCommand('close',\(output.packetCount - 1));\n".utf8 }
        }
        poll.connection.answerPoll(script)
    }

    // MARK: The switch to a WebSocket

    /// The client has sent its last message here.
    var hasClientEnded: Bool { if case .clientEnded = state { true } else { false } }

    func clientEnded() { state = .clientEnded }

    /// The session continues elsewhere. Later polls get the same answer as the first one.
    func finish() {
        state = .finishing
        session = nil
        endPart()
        flushLater()
    }

    // MARK: Ending

    private var isOver: Bool {
        switch state {
        case .serving, .clientEnded: false
        case .finishing, .closed: true
        }
    }

    /// The client is gone, or wants to be.
    package func leave() {
        if let session { session.close(reason: "the client left") } else { close() }
    }

    /// The server ends: the waiting messages are the client's last, on the poll that also ends the session.
    package func serverStops() {
        if output.hasMessages {
            if open != nil {
                open?.prelude += output.takePacket()
            } else if let last = due.indices.last {
                due[last].prelude += output.takePacket()
            }
        }
        leave()
    }

    /// Something is wrong with the client. It is told no more than that this is the end.
    func giveUp(because reason: String) {
        context.services.log.info("polling.given-up", [("connection", "\(id.raw)"), ("reason", reason)])
        leave()
    }

    /// The session is over.
    func close() {
        if case .closed = state { return }
        state = .closed
        session = nil
        endPart()
        client.polledSessions.leave()
        timer?.cancel()
        timer = nil
        forget(id)
        if let open { due.append(open) }
        open = nil
        flushLater()
    }

    private func setTimer() {
        timer?.arm(after: open == nil ? limits.pollGapMax : limits.pollHoldMax)
    }

    private func timedOut() {
        guard let poll = open else { return leave() }
        open = nil
        due.append(poll)
        flush()
    }
}

/// The parameters of a poll.
struct PollRequest {
    struct Segment {
        var number = -1
        var count = 0
        var text: ArraySlice<UInt8> = []
    }

    private(set) var serial = 0
    /// By their place in the request.
    private var segments: [Int: Segment] = [:]

    init(_ query: QueryString) {
        for parameter in query {
            let name = parameter.name
            let word = name.prefix { !$0.isDigit }
            if word.elementsEqual("ser".utf8), word.count == name.count {
                serial = Self.number(parameter.value) ?? 0
                continue
            }
            guard let place = Self.number(name[word.endIndex...]) else { continue }
            if word.elementsEqual("seg".utf8) {
                segments[place, default: Segment()].number = Self.number(parameter.value) ?? -1
            } else if word.elementsEqual("ts".utf8) {
                segments[place, default: Segment()].count = Self.number(parameter.value) ?? 0
            } else if word.elementsEqual("d".utf8) {
                segments[place, default: Segment()].text = parameter.value
            }
        }
    }

    mutating func takeSegments() -> Dictionary<Int, Segment>.Values {
        defer { segments = [:] }
        return segments.values
    }

    /// Nil if it is not a number of a reasonable size.
    private static func number(_ text: ArraySlice<UInt8>) -> Int? {
        guard (1...15).contains(text.count), text.allSatisfy(\.isDigit) else { return nil }
        return text.reduce(0) { $0 * 10 + Int($1 & 15) }
    }
}
