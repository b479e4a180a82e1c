import HearthEventLoop
import HearthHTTPCodec
import HearthSystem

/// One attempt to post an event over HTTP, with a connection of its own. The status decides; redirections are not
/// followed, and the rest of the answer is not read. Lives on its loop.
final class EventPost: StreamHandler {
    private let address: FetchAddress
    private let headers: [(name: StaticString, value: [UInt8])]
    private let body: [UInt8]
    private let deadline: MonotonicTime
    private var decoder = ResponseDecoder()
    private var then: ((TriggerQueue.Outcome) -> Void)?

    init(
        _ address: FetchAddress, _ headers: [(name: StaticString, value: [UInt8])], _ body: [UInt8], timeout: Duration,
        then: @escaping (TriggerQueue.Outcome) -> Void
    ) {
        (self.address, self.headers, self.body, self.then) = (address, headers, body, then)
        deadline = MonotonicTime.current + timeout
    }

    func begin(on loop: EventLoop, tls: TLSContext, _ configuration: TriggerConfiguration) {
        var limits = StreamLimits()
        limits.openTimeout = configuration.timeout
        let isSecure = address.isSecure
        loop.connect(
            host: address.host, port: address.port, tls: isSecure ? tls : nil, limits: limits,
            admits: { configuration.admits($0, isSecure: isSecure) }, handler: self)
    }

    func opened(_ stream: Stream) {
        let (target, host, content) = (Array(address.target.utf8), Array(address.authority.utf8), body)
        var request: [UInt8] = []
        RequestWriter.begin(.post, target: target.span, host: host.span, into: &request)
        for (name, value) in headers {
            let value = value
            RequestWriter.header(name, value.span, into: &request)
        }
        RequestWriter.header("User-Agent", "hearth", into: &request)
        RequestWriter.header("Connection", "close", into: &request)
        RequestWriter.end(body: content.span, into: &request)
        stream.send(shared: request)
        stream.setTimeout(after: deadline - MonotonicTime.current)
    }

    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
        var input = UnsafeRawBufferPointer(bytes)
        while then != nil, let event = decoder.next(&input) { take(event) }
        if then == nil { stream.abort() }
    }

    func receivedEnd(on stream: Stream) {
        if then != nil, let event = decoder.finish() { take(event) }
        stream.close(.peer)
    }

    private func take(_ event: HTTPEvent<ResponseHead>) {
        switch event {
        case .head(let head): settle(Self.outcome(of: head))
        case .body, .end: break
        case .failure(let failure): settle(.failed("\(failure.reason)"))
        }
    }

    private static func outcome(of head: ResponseHead) -> TriggerQueue.Outcome {
        let code = head.status.code
        switch code {
        case 200..<300: return .delivered
        case 410: return .refused("HTTP status 410")
        default:
            // A date is not read: the pause before the next attempt is long enough.
            let wait = head.headers.first("retry-after").flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
            let isRedirection = (300..<400).contains(code)
            return .failed(
                "HTTP status \(code)\(isRedirection ? ": redirections are not followed" : "")",
                retryAfter: wait.map { max(0, min($0, 86_400)) * 1000 })
        }
    }

    func closed(_ stream: Stream, reason: CloseReason) {
        // Without effect if there was an answer.
        switch reason {
        case .forbidden(let addresses):
            settle(.failed("\(address.host) (\(addresses)) is not allowed (--trigger-networks)"))
        case .timedOut: settle(.failed("no answer in time"))
        case .nameNotFound(let text): settle(.failed(text))
        case .notConnected(let error), .system(let error): settle(.failed("\(error)"))
        case .tls(let text): settle(.failed(text))
        default: settle(.failed("the connection ended without an answer"))
        }
    }

    private func settle(_ outcome: TriggerQueue.Outcome) {
        let then = then
        self.then = nil
        then?(outcome)
    }
}
