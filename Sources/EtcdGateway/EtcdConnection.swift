import HearthEtcdMessages
import HearthEventLoop
import HearthHTTPCodec
import HearthSystem

/// One HTTP/1.1 connection to a member, for a thread that waits: one request after the other.
final class EtcdConnection {
    let member: EtcdMember
    private let connection: WaitingConnection
    private var decoder: ResponseDecoder
    /// Bytes of the response that were received and not decoded yet.
    private var received: [UInt8] = []
    /// Another request may follow.
    private(set) var isUsable = true

    /// - parameter deadline: bounds connecting; each request has its own.
    /// - parameter isStream: the response may have any length.
    init(
        _ member: EtcdMember, tls: TLSContext?, deadline: MonotonicTime, isStream: Bool = false
    ) throws(EtcdError) {
        self.member = member
        decoder = ResponseDecoder(limits: HTTPLimits(bodyBytesMax: isStream ? .max : 256 << 20))
        do throws(WaitingConnection.Failure) {
            connection = try WaitingConnection(
                host: member.host, port: member.port, timeout: nil, deadline: deadline)
            if let tls { try connection.startTLS(tls, serverName: member.host) }
        } catch {
            throw .unavailable("\(member): \(error.description)")
        }
    }

    /// Sends a request and reads the whole response.
    func exchange(
        _ path: StaticString, _ body: [UInt8], deadline: MonotonicTime
    ) throws(EtcdError) -> (status: Int, body: [UInt8]) {
        precondition(isUsable)
        // After a failure the beginning of the next response is unknown.
        isUsable = false
        connection.deadline = deadline
        try send(path, body)
        var reply: [UInt8] = []
        var head: ResponseHead?
        while true {
            var hasEnded = false
            try decode { (event) throws(EtcdError) in
                switch event {
                case .head(let response): head = response
                case .body(let bytes): reply.append(contentsOf: bytes)
                case .end: hasEnded = true
                case .failure(let failure): throw malformed(failure)
                }
                return !hasEnded
            }
            if hasEnded, let head {
                isUsable = head.keepAlive && received.isEmpty
                return (head.status.code, reply)
            }
            try receive(until: nil)
        }
    }

    /// Sends a request whose response is a stream, and reads the head of the response.
    func beginStream(_ path: StaticString, _ body: [UInt8]) throws(EtcdError) { try send(path, body) }

    /// The next piece of the stream, or nil if nothing came by some time. Throws at its end.
    func nextOfStream(until end: MonotonicTime) throws(EtcdError) -> [UInt8]? {
        while true {
            var piece: [UInt8] = []
            try decode { (event) throws(EtcdError) in
                switch event {
                case .head(let head) where head.status.code == 200: return true
                case .head(let head): throw .malformedReply("\(member): HTTP status \(head.status.code)")
                case .body(let bytes): piece.append(contentsOf: bytes)
                case .end: throw .unavailable("\(member): the stream has ended")
                case .failure(let failure): throw malformed(failure)
                }
                return false
            }
            if !piece.isEmpty { return piece }
            guard try receive(until: end) else { return nil }
        }
    }

    private func send(_ path: StaticString, _ body: [UInt8]) throws(EtcdError) {
        var request: [UInt8] = []
        request.reserveCapacity(body.count + 512)
        let target = path.withUTF8Buffer { Array($0) }
        let host = Array(member.description.utf8)
        RequestWriter.begin(.post, target: target.span, host: host.span, into: &request)
        RequestWriter.header("Content-Type", "application/json", into: &request)
        // Without it, etcd may judge a request by the name in its own certificate.
        RequestWriter.header("Accept", "application/json", into: &request)
        // A member without a leader says so at once instead of waiting for one.
        RequestWriter.header("Grpc-Metadata-hasleader", "true", into: &request)
        RequestWriter.end(body: body.span, into: &request)
        decoder.requestMethod = .post
        do throws(WaitingConnection.Failure) { try connection.send(request) } catch { throw unknown(error) }
    }

    /// Decodes received bytes, until `body` returns false.
    private func decode(
        _ body: (HTTPEvent<ResponseHead>) throws(EtcdError) -> Bool
    ) throws(EtcdError) {
        let bytes = received
        var left = 0
        try bytes.span.withUnsafeBytes { (bytes) throws(EtcdError) in
            var input = bytes
            defer { left = input.count }
            while let event = decoder.next(&input) { if try !body(event) { return } }
        }
        received = Array(bytes.suffix(left))
    }

    /// Answers false if nothing came by `end`; without one, that is an error.
    @discardableResult
    private func receive(until end: MonotonicTime?) throws(EtcdError) -> Bool {
        do throws(WaitingConnection.Failure) {
            let bytes: [UInt8]
            if let end {
                guard let piece = try connection.receive(maximum: 64 << 10, until: end) else { return false }
                bytes = piece
            } else {
                bytes = try connection.receive(maximum: 64 << 10)
            }
            if bytes.isEmpty { throw WaitingConnection.Failure(description: "the peer has hung up") }
            received += bytes
            return true
        } catch {
            throw unknown(error)
        }
    }

    private func unknown(_ failure: WaitingConnection.Failure) -> EtcdError {
        .outcomeUnknown("\(member): \(failure.description)")
    }

    private func malformed(_ failure: HTTPFailure) -> EtcdError { .malformedReply("\(member): \(failure.reason)") }
}
