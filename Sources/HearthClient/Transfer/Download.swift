package import EventLoop
import HTTPCodec

/// The answer to an HTTP request, whose body is handed on as it comes. Lives on one loop.
package final class Download: StreamHandler, @unchecked Sendable {
    // Safe because: other threads only carry a reference into `loop.execute`.

    /// Called on the loop's thread with each piece of the body, which is gone when the call returns. As long as it
    /// takes, nothing is read, which in turn slows down the server. False ends the download.
    package typealias Sink = @Sendable (UnsafeRawBufferPointer) -> Bool

    private enum Phase {
        case head
        case body
        /// An answer other than 200, and its body so far.
        case refusal(HTTPStatus, [UInt8])
    }

    /// A large value is frozen before its first byte comes.
    private static let patience = Duration.seconds(300)

    private let request: [UInt8]
    private let sink: Sink
    private let reply: Reply<Void, ConnectionError>
    private var decoder = ResponseDecoder(limits: HTTPLimits(bodyBytesMax: .max))
    private var phase = Phase.head

    private init(request: [UInt8], sink: @escaping Sink, reply: Reply<Void, ConnectionError>) {
        self.request = request
        self.sink = sink
        self.reply = reply
    }

    /// Makes a request. Returns when all of its answer was handed on.
    ///
    /// - parameter loop: a running loop, which has nothing else to do if `sink` blocks.
    /// - throws: ``ConnectionError/cancelled`` when `sink` wanted no more; `refused` for an answer other than 200;
    ///   `disconnected` also when the body is not complete.
    package static func run(
        _ call: HTTPCall, on loop: EventLoop, options: ConnectionOptions = ConnectionOptions(), sink: @escaping Sink
    ) async throws(ConnectionError) {
        let reply = Reply<Void, ConnectionError>()
        let download = Download(request: call.bytes, sink: sink, reply: reply)
        let isPosted = loop.execute { download.connect(to: call.address, on: loop, options: options) }
        if !isPosted { reply.settle(.failure(.disconnected(.closed))) }
        try await reply.value()
    }

    private func connect(to address: HTTPAddress, on loop: EventLoop, options: ConnectionOptions) {
        do {
            let tls = address.usesTLS ? try options.tls ?? SystemTrust.context.get() : nil
            var limits = StreamLimits()
            limits.openTimeout = options.openTimeout
            loop.connect(host: address.host, port: address.port, tls: tls, limits: limits, handler: self)
        } catch {
            reply.settle(.failure(.disconnected(.unreachable("\(error)"))))
        }
    }

    // MARK: The server

    package func opened(_ stream: Stream) {
        stream.send(shared: request)
        stream.setTimeout(after: Download.patience)
    }

    package func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
        stream.setTimeout(after: Download.patience)
        var input = UnsafeRawBufferPointer(bytes)
        while !reply.isSettled, let event = decoder.next(&input) { take(event) }
        // Also when the task that waits was cancelled.
        if reply.isSettled { stream.close() }
    }

    package func receivedEnd(on stream: Stream) {
        if let event = decoder.finish() { take(event) }
        stream.close(.peer)
    }

    private func take(_ event: HTTPEvent<ResponseHead>) {
        switch event {
        case .head(let head): phase = head.status == .ok ? .body : .refusal(head.status, [])
        case .body(let bytes):
            guard case .refusal(let status, let text) = phase else {
                if !sink(bytes) { reply.settle(.failure(.cancelled)) }
                return
            }
            if text.count < 64 << 10 { phase = .refusal(status, text + bytes) }
        case .end:
            guard case .refusal(let status, let text) = phase else { return reply.settle(.success(())) }
            let message = ErrorBody.message(in: text) ?? "\(status.reason)"
            reply.settle(.failure(.refused(status: "HTTP \(status.code)", text: message)))
        case .failure(.truncated):
            reply.settle(.failure(.disconnected(.lost("the answer broke off in the middle"))))
        case .failure(let failure): reply.settle(.failure(.protocolError("\(failure.reason)")))
        }
    }

    package func closed(_ stream: Stream, reason: CloseReason) {
        // Without effect if the answer is complete.
        switch phase {
        case .head: reply.settle(.failure(.disconnected(.unreachable(reason.text))))
        case .body, .refusal: reply.settle(.failure(.disconnected(.lost(reason.text))))
        }
    }
}
