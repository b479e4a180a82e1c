import HearthEtcdMessages
import HearthEventLoop
import HearthHTTPCodec
import HearthSystem

/// One connection to a member, in gRPC over HTTP/2, for a thread that waits: one request after the other.
final class EtcdConnection {
    let member: EtcdMember
    private let connection: WaitingConnection
    private let session: HTTP2Session
    private var decoder = EtcdConnection.makeDecoder()
    /// Another request may follow, as far as is known.
    private(set) var isUsable = true
    /// The connection failed after the end of a response.
    private var isBroken = false
    /// When the last byte of a stream came.
    private(set) var lastHeard = MonotonicTime.current

    /// - parameter deadline: bounds connecting; each request has its own.
    init(_ member: EtcdMember, tls: TLSContext?, deadline: MonotonicTime) throws(EtcdError) {
        self.member = member
        session = HTTP2Session(isEncrypted: tls != nil)
        do throws(WaitingConnection.Failure) {
            connection = try WaitingConnection(
                host: member.host, port: member.port, timeout: nil, deadline: deadline)
            if let tls { try connection.startTLS(tls, serverName: member.host, offering: .http2) }
        } catch {
            throw .unavailable("\(member): \(error.description)")
        }
    }

    /// Received at once.
    private static let pieceBytes = 16 << 10
    /// Pieces that an idle connection may bring at once: more are no frames of a member that has nothing to say.
    private static let idlePiecesMax = 64

    private static func makeDecoder() -> GRPCMessages.Decoder { GRPCMessages.Decoder(bytesMax: 256 << 20) }

    /// Whether another request may follow. Reads the bytes that have come meanwhile: the member may have ended the
    /// connection.
    func takesRequests() -> Bool {
        guard isUsable else { return false }
        isUsable = false
        do throws(EtcdError) {
            for _ in 0..<Self.idlePiecesMax where try !receive(until: .current) {
                isUsable = session.takesRequests
                break
            }
        } catch {}
        return isUsable
    }

    /// Sends a request and reads the whole response, which has one message.
    ///
    /// - precondition: ``takesRequests()``
    func exchange(
        _ path: StaticString, _ message: [UInt8], deadline: MonotonicTime
    ) throws(EtcdError) -> [UInt8] {
        precondition(isUsable)
        // After a failure the beginning of the next response is unknown.
        isUsable = false
        try begin(path, message, deadline: deadline)
        var reply: [UInt8]?
        while true {
            let hasEnded = session.response.endCode != nil
            decoder.feed(session.takeBody())
            while let message = try decodedMessage() {
                guard reply == nil else { throw .malformedReply("\(member): more than one message") }
                reply = message
            }
            if hasEnded { break }
            guard MonotonicTime.current < deadline else { throw .outcomeUnknown("\(member): the peer does not answer") }
            try receive(until: nil)
        }
        isUsable = session.response.grpcStatus != nil && !isBroken
        try checkOutcome()
        guard let reply else { throw .malformedReply("\(member): a response without a message") }
        return reply
    }

    /// Sends a request whose response is a stream of messages.
    func beginStream(_ path: StaticString, _ message: [UInt8], deadline: MonotonicTime) throws(EtcdError) {
        try begin(path, message, deadline: deadline)
    }

    /// The next messages of the stream; empty if none was complete by some time. Throws at its end.
    func messagesOfStream(until end: MonotonicTime) throws(EtcdError) -> [[UInt8]] {
        connection.deadline = end
        while true {
            let hasEnded = session.response.endCode != nil
            let body = session.takeBody()
            decoder.feed(body)
            // Other frames do not say that the stream is alive.
            if !body.isEmpty { lastHeard = .current }
            var messages: [[UInt8]] = []
            while let message = try decodedMessage() { messages.append(message) }
            if !messages.isEmpty { return messages }
            if hasEnded {
                try checkOutcome()
                throw .unavailable("\(member): the stream has ended")
            }
            guard try receive(until: end), MonotonicTime.current < end else { return [] }
        }
    }

    private func begin(_ path: StaticString, _ message: [UInt8], deadline: MonotonicTime) throws(EtcdError) {
        connection.deadline = deadline
        decoder = Self.makeDecoder()
        session.begin(path, authority: Array(member.description.utf8), message: GRPCMessages.framed(message))
        try send()
    }

    private func decodedMessage() throws(EtcdError) -> [UInt8]? {
        do throws(EtcdError) { return try decoder.next() } catch {
            isUsable = false
            throw error
        }
    }

    private func send() throws(EtcdError) {
        let bytes = session.output()
        guard !bytes.isEmpty else { return }
        do throws(WaitingConnection.Failure) { try connection.send(bytes) } catch { throw unknown(error) }
    }

    /// Receives bytes, and sends the frames that answer them. Answers false if nothing came by `end`; without one, that
    /// is an error.
    @discardableResult
    private func receive(until end: MonotonicTime?) throws(EtcdError) -> Bool {
        let bytes: [UInt8]
        do throws(WaitingConnection.Failure) {
            if let end {
                guard let piece = try connection.receive(maximum: Self.pieceBytes, until: end) else { return false }
                bytes = piece
            } else {
                bytes = try connection.receive(maximum: Self.pieceBytes)
            }
            if bytes.isEmpty { throw WaitingConnection.Failure(description: "the peer has hung up") }
        } catch {
            throw unknown(error)
        }
        session.receive(bytes)
        do throws(EtcdError) {
            try send()
            guard session.isAlive else {
                throw .malformedReply("\(member): not HTTP/2" + (session.problem.map { ": \($0)" } ?? ""))
            }
        } catch {
            // The response has come before that.
            guard session.response.endCode != nil else { throw error }
            isBroken = true
        }
        return true
    }

    /// Throws if the response that has ended is not a success.
    private func checkOutcome() throws(EtcdError) {
        let response = session.response
        switch (response.grpcStatus, response.status, response.endCode) {
        case (0?, 200?, _): return
        case (let code?, 200?, _):
            let text = PercentDecoder.decode(response.grpcMessage[...], isForm: false)
            throw EtcdError(code: code, message: String(decoding: text, as: UTF8.self))
        // REFUSED_STREAM, with no part of a response: the request was not looked at (RFC 9113, section 8.7).
        case (nil, nil, 7?): throw .unavailable("\(member): the request was refused")
        case (_, let status?, 0?):
            throw .malformedReply("\(member): HTTP status \(status)" + (status == 200 ? " without one of gRPC" : ""))
        case (_, _, let code): throw .outcomeUnknown("\(member): error \(code ?? 0) of HTTP/2")
        }
    }

    private func unknown(_ failure: WaitingConnection.Failure) -> EtcdError {
        .outcomeUnknown("\(member): \(failure.description)")
    }
}
