import HearthClientTransport
import HearthEventLoop

/// A stream of an event loop, as clients see it.
final class EventLoopStream: ClientStream, StreamHandler, @unchecked Sendable {
    // Safe because: other threads only carry a reference into `EventLoop.execute`.

    /// Nil once it was told of the end.
    private var handler: (any ClientStreamHandler)?
    /// Nil once it is closed.
    private var stream: Stream?
    /// The end that `closed` reports.
    private var end: ClientStreamEnd?

    init(_ handler: any ClientStreamHandler) { self.handler = handler }

    func connect(to endpoint: ClientEndpoint, on loop: EventLoop) {
        let tls: TLSContext?
        do throws(ClientTransportError) {
            tls = endpoint.usesTLS ? try context(endpoint.authorities) : nil
        } catch {
            // Also told by a loop that is ending, which takes no more work.
            loop.atEndOfTurn { self.tellEnd(.failed(error.description)) }
            return
        }
        var limits = StreamLimits()
        limits.openTimeout = endpoint.openTimeout
        // A client that stops reading while the server waits for it to read would wait forever. How much may be unsent
        // is bounded by who sends.
        limits.highWater = .max
        limits.hardLimit = .max
        stream = loop.connect(host: endpoint.host, port: endpoint.port, tls: tls, limits: limits, handler: self)
    }

    private func context(_ authorities: (any ClientAuthorities)?) throws(ClientTransportError) -> TLSContext {
        guard let authorities else {
            do throws(TLSError) { return try SystemTrust.context.get() } catch {
                throw ClientTransportError("\(error)")
            }
        }
        guard let context = authorities as? TLSContext else {
            throw ClientTransportError("the authorities are another transport's")
        }
        return context
    }

    // MARK: The client's side

    func send(_ bytes: [UInt8]) { stream?.send(shared: bytes) }

    func pauseReading() { stream?.pauseReading() }

    func resumeReading() { stream?.resumeReading() }

    func setTimeout(after delay: Duration) { stream?.setTimeout(after: delay) }

    func close(_ end: ClientStreamEnd) {
        if self.end == nil { self.end = end }
        stream?.close()
    }

    func abort() {
        end = .local
        stream?.abort()
    }

    // MARK: The loop's side

    func opened(_ stream: Stream) { handler?.opened(self) }

    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
        stream.loop.runPostedWork()
        // That work may have closed the stream.
        if end == nil { handler?.received(bytes, on: self) }
    }

    func receivedEnd(on stream: Stream) { handler?.receivedEnd(on: self) }

    func timedOut(_ stream: Stream) { handler?.timedOut(self) }

    func shutdownRequested(_ stream: Stream) { handler?.shutdownRequested(self) }

    func closed(_ stream: Stream, reason: CloseReason) {
        self.stream = nil
        tellEnd(end ?? ClientStreamEnd(reason))
    }

    private func tellEnd(_ end: ClientStreamEnd) {
        let last = handler
        handler = nil
        last?.closed(self, because: end)
    }
}

extension ClientStreamEnd {
    fileprivate init(_ reason: CloseReason) {
        self =
            switch reason {
            case .local: .local
            case .peer: .peer
            case .shutdown: .shutdown
            case .reset: .failed("connection reset")
            case .timedOut: .failed("timed out")
            case .slowConsumer: .failed("the server does not read")
            case .tls(let text), .nameNotFound(let text): .failed(text)
            case .forbidden(let addresses): .failed("\(addresses) may not be connected to")
            case .notConnected(let error), .system(let error): .failed("\(error)")
            }
    }
}
