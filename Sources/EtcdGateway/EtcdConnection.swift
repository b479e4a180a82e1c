import HearthEtcdMessages
import HearthEventLoop
import HearthHTTPCodec
import HearthSystem

/// One connection to a member, in gRPC over HTTP/2, for a thread that waits: one request after the other.
final class EtcdConnection {
    let member: EtcdMember
    private let connection: WaitingConnection
    private let session = HTTP2Session()
    private var decoder = EtcdConnection.makeDecoder()
    private var isUsable = true
    /// When the last byte came.
    private(set) var lastHeard = MonotonicTime.current

    /// - parameter deadline: bounds connecting; each request has its own.
    init(_ member: EtcdMember, tls: TLSContext?, deadline: MonotonicTime) throws(EtcdError) {
        self.member = member
        do throws(WaitingConnection.Failure) {
            connection = try WaitingConnection(
                host: member.host, port: member.port, timeout: nil, deadline: deadline)
            if let tls { try connection.startTLS(tls, serverName: member.host, offering: .http2) }
        } catch {
            throw .unavailable("\(member): \(error.description)")
        }
    }

    /// Received at once: the largest frame that a server sends to a client that has not asked for larger ones.
    private static let pieceBytes = 16 << 10

    private static func makeDecoder() -> GRPCMessages.Decoder { GRPCMessages.Decoder(bytesMax: 256 << 20) }

    /// Whether another request may follow. Reads what has come meanwhile: the member may have ended the connection.
    func takesRequests() -> Bool {
        guard isUsable else { return false }
        do throws(EtcdError) { while try receive(until: .current) {} } catch { isUsable = false }
        return isUsable && session.takesRequests
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
            try receive(until: nil)
        }
        isUsable = session.response.grpcStatus != nil
        try checkOutcome()
        guard let reply else { throw .malformedReply("\(member): a response without a message") }
        return reply
    }

    /// Sends a request whose response is a stream of messages.
    func beginStream(_ path: StaticString, _ message: [UInt8], deadline: MonotonicTime) throws(EtcdError) {
        try begin(path, message, deadline: deadline)
    }

    /// The next message of the stream, or nil if none was complete by some time. Throws at its end.
    func nextOfStream(until end: MonotonicTime) throws(EtcdError) -> [UInt8]? {
        connection.deadline = end
        while true {
            let hasEnded = session.response.endCode != nil
            decoder.feed(session.takeBody())
            if let message = try decodedMessage() { return message }
            if hasEnded {
                try checkOutcome()
                throw .unavailable("\(member): the stream has ended")
            }
            guard try receive(until: end) else { return nil }
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

    /// Receives bytes, and sends what they call for. Answers false if nothing came by `end`; without one, that is an
    /// error.
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
        lastHeard = .current
        let problem = session.receive(bytes)
        try send()
        guard problem == nil, session.isAlive || session.response.endCode != nil else {
            throw .malformedReply("\(member): not HTTP/2" + (problem.map { ": \($0)" } ?? ""))
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
        // REFUSED_STREAM: the request was not looked at (RFC 9113, section 8.7).
        case (nil, _, 7?): throw .unavailable("\(member): the request was refused")
        case (_, let status?, 0?):
            throw .malformedReply("\(member): HTTP status \(status)" + (status == 200 ? " without one of gRPC" : ""))
        case (_, _, let code): throw .outcomeUnknown("\(member): error \(code ?? 0) of HTTP/2")
        }
    }

    private func unknown(_ failure: WaitingConnection.Failure) -> EtcdError {
        .outcomeUnknown("\(member): \(failure.description)")
    }
}
