import HearthClientTransport

/// One end of a connection in memory.
final class MemoryStream: ClientStream, @unchecked Sendable {
    // Safe because: it is used in the network's order alone.

    private enum State {
        case connecting
        case open
        /// This side has closed it; the peer has not heard of it yet.
        case closing
        case ended
    }

    /// An input from the peer that was not taken yet.
    private enum Arrival {
        case bytes([UInt8])
        case end
    }

    private let events: MemoryEvents
    private let places: MemoryPlaces
    private var state = State.connecting
    private var handler: (any ClientStreamHandler)?
    private var onEnd: ((MemoryStream) -> Void)?
    private var peer: MemoryStream?
    private var isPaused = false
    private var waiting: [Arrival] = []
    /// Sent before the connection was there.
    private var staged: [[UInt8]] = []
    private var timer: MemoryTimer?

    /// - parameter onEnd: told when the handler has been.
    init(
        _ events: MemoryEvents, _ places: MemoryPlaces, _ handler: (any ClientStreamHandler)? = nil,
        onEnd: ((MemoryStream) -> Void)? = nil
    ) {
        (self.events, self.places) = (events, places)
        self.handler = handler
        self.onEnd = onEnd
        places.add(self) { [self] in finish(.failed("connection reset")) }
    }

    // MARK: Connecting

    func connect(to endpoint: ClientEndpoint) {
        events.post { [self] in
            guard state == .connecting else { return }
            guard let accept = places.accept(at: endpoint.host, port: endpoint.port) else {
                return finish(.failed("connect to \(endpoint.host):\(endpoint.port): Connection refused"))
            }
            let other = MemoryStream(events, places)
            (peer, other.peer) = (other, self)
            other.handler = accept(other)
            // The server may have closed it at once.
            guard other.state == .connecting else { return finish(.peer) }
            other.becomeOpen()
            becomeOpen()
        }
    }

    private func becomeOpen() {
        guard state == .connecting else { return }
        state = .open
        let early = staged
        staged = []
        for bytes in early { send(bytes) }
        handler?.opened(self)
    }

    // MARK: Sending

    func send(_ bytes: [UInt8]) {
        switch state {
        case .connecting: staged.append(bytes)
        case .open:
            let peer = peer
            events.post { peer?.arrived(.bytes(bytes)) }
        case .closing, .ended: break
        }
    }

    // MARK: Receiving

    private func arrived(_ arrival: Arrival) {
        guard state == .open else { return }
        waiting.append(arrival)
        if case .bytes(let bytes) = arrival { places.countUnread(bytes.count) }
        deliver()
    }

    private func deliver() {
        while state == .open, !isPaused, !waiting.isEmpty {
            switch waiting.removeFirst() {
            case .bytes(var bytes):
                places.countUnread(-bytes.count)
                bytes.withUnsafeMutableBytes { handler?.received($0, on: self) }
            case .end: handler?.receivedEnd(on: self)
            }
        }
    }

    func pauseReading() { isPaused = true }

    func resumeReading() {
        isPaused = false
        events.post { [self] in deliver() }
    }

    // MARK: Time

    func setTimeout(after delay: Duration) {
        guard state == .open else { return }
        timer?.cancel()
        timer = events.callLater(after: delay) { [weak self] in
            guard let self, state == .open else { return }
            handler?.timedOut(self)
        }
    }

    // MARK: The end

    func requestShutdown() {
        switch state {
        case .connecting: finish(.shutdown)
        case .open: handler?.shutdownRequested(self)
        case .closing, .ended: break
        }
    }

    func close(_ end: ClientStreamEnd) {
        switch state {
        case .connecting: finish(end)
        case .open:
            state = .closing
            let peer = peer
            events.post { [self] in
                peer?.arrived(.end)
                finish(end)
            }
        case .closing, .ended: break
        }
    }

    func abort() {
        let peer = peer
        events.post { peer?.finish(.failed("connection reset")) }
        finish(.local)
    }

    /// Ends it. The handler is told after the events that were caused before.
    func finish(_ end: ClientStreamEnd) {
        guard state != .ended else { return }
        state = .ended
        timer?.cancel()
        timer = nil
        for case .bytes(let bytes) in waiting { places.countUnread(-bytes.count) }
        (waiting, staged, peer) = ([], [], nil)
        places.remove(self)
        events.post { [self] in
            let last = handler
            handler = nil
            last?.closed(self, because: end)
            onEnd?(self)
            onEnd = nil
        }
    }
}
