package import HearthClientTransport
import HearthHTTPCodec
package import HearthClientSession

/// The answer to an HTTP request, whose body is handed on as it comes.
package enum Download {
    /// Called on the loop's thread with each piece of the body, which is gone when the call returns. As long as it
    /// takes, nothing is read, which in turn slows down the server. False ends the download.
    package typealias Sink = @Sendable (UnsafeRawBufferPointer) -> Bool

    /// Makes a request. Returns when all of its answer was handed on.
    ///
    /// - parameter patience: how long the server may be silent.
    /// - parameter loop: a running loop, which has nothing else to do if `sink` blocks.
    /// - throws: ``ConnectionError/cancelled`` when `sink` wanted no more; `refused` for an answer other than 200;
    ///   `disconnected` also when the body is not complete.
    package static func run(
        _ call: HTTPCall, on loop: any ClientLoop, options: ConnectionOptions = ConnectionOptions(),
        patience: Duration = .seconds(300), sink: @escaping Sink
    ) async throws(ConnectionError) {
        try await HTTPExchange.run(
            call, on: loop, options: options, patience: patience, bodyBytesMax: .max, reader: Reader(sink: sink))
    }

    private struct Reader: ResponseReader {
        let sink: Sink
        /// Other than a 200.
        private var refusal: HTTPAnswer?

        init(sink: @escaping Sink) { self.sink = sink }

        mutating func take(_ event: HTTPEvent<ResponseHead>) -> Result<Void, ConnectionError>? {
            switch event {
            case .head(let head): if head.status != .ok { refusal = HTTPAnswer(head) }
            case .body(let bytes):
                guard let refusal else { return sink(bytes) ? nil : .failure(.cancelled) }
                if refusal.body.count < 64 << 10 { self.refusal?.body += bytes }
            case .end: return refusal.map { .failure($0.refusal) } ?? .success(())
            case .failure: break
            }
            return nil
        }
    }
}
