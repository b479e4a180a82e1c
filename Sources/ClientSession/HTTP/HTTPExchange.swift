package import HearthClientTransport
package import HearthHTTPCodec

/// Receives the answer to an HTTP request. Called on the loop's thread.
package protocol ResponseReader: SendableMetatype {
    associatedtype Value: Sendable

    /// Takes the head, a piece of the body (which is gone when the call returns) or the end, and says how it went as
    /// soon as that is known; at the end at the latest.
    mutating func take(_ event: HTTPEvent<ResponseHead>) -> Result<Value, ConnectionError>?
}

/// One HTTP request on a connection of its own, and its answer. Lives on one loop.
package final class HTTPExchange<Reader: ResponseReader>: ClientStreamHandler, @unchecked Sendable {
    // Safe because: other threads only carry a reference into `ClientLoop.execute`.

    private let request: [UInt8]
    private let patience: Duration
    private var reader: Reader
    private let reply: Reply<Reader.Value, ConnectionError>
    private var decoder: ResponseDecoder
    private var hasHead = false

    private init(
        _ call: HTTPCall, patience: Duration, bodyBytesMax: Int, reader: consuming sending Reader,
        reply: Reply<Reader.Value, ConnectionError>
    ) {
        request = call.bytes
        self.patience = patience
        self.reader = reader
        self.reply = reply
        decoder = ResponseDecoder(limits: HTTPLimits(bodyBytesMax: bodyBytesMax))
    }

    /// Sends a request and waits for the reader's result.
    ///
    /// - parameter patience: how long the server may be silent; a large value is frozen before its first byte comes.
    /// - parameter loop: a running loop.
    /// - throws: the reader's errors; `disconnected` also when the answer is not complete.
    package static func run(
        _ call: HTTPCall, on loop: any ClientLoop, options: ConnectionOptions, patience: Duration = .seconds(300),
        bodyBytesMax: Int, reader: consuming sending Reader
    ) async throws(ConnectionError) -> Reader.Value {
        let reply = Reply<Reader.Value, ConnectionError>()
        let exchange = HTTPExchange(call, patience: patience, bodyBytesMax: bodyBytesMax, reader: reader, reply: reply)
        let isPosted = loop.execute { exchange.connect(to: call.address, on: loop, options: options) }
        if !isPosted { reply.settle(.failure(.disconnected(.closed))) }
        return try await reply.value()
    }

    private func connect(to address: HTTPAddress, on loop: any ClientLoop, options: ConnectionOptions) {
        _ = loop.connect(
            to: options.endpoint(host: address.host, port: address.port, usesTLS: address.usesTLS), handler: self)
    }

    // MARK: The server

    package func opened(_ stream: any ClientStream) {
        stream.send(request)
        stream.setTimeout(after: patience)
    }

    package func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: any ClientStream) {
        stream.setTimeout(after: patience)
        var input = UnsafeRawBufferPointer(bytes)
        while !reply.isSettled, let event = decoder.next(&input) { take(event) }
        // Also when the task that waits was cancelled.
        if reply.isSettled { stream.close() }
    }

    package func receivedEnd(on stream: any ClientStream) {
        if !reply.isSettled, let event = decoder.finish() { take(event) }
        stream.close(.peer)
    }

    private func take(_ event: HTTPEvent<ResponseHead>) {
        switch event {
        case .failure(.truncated):
            reply.settle(.failure(.disconnected(.lost("the answer broke off in the middle"))))
        case .failure(let failure): reply.settle(.failure(.protocolError("\(failure.reason)")))
        case .head, .body, .end:
            if case .head = event { hasHead = true }
            if let result = reader.take(event) { reply.settle(result) }
        }
    }

    package func closed(_ stream: any ClientStream, because end: ClientStreamEnd) {
        // Without effect if the answer is complete.
        reply.settle(.failure(.disconnected(DisconnectReason(end, isEstablished: hasHead))))
    }
}
