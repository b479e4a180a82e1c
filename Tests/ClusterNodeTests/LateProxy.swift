import HearthEventLoop
import Synchronization

/// A proxy between clients and a server whose answers it holds back. Those that a connection begins with pass at once.
final class LateProxy: Sendable {
    private let group: EventLoopGroup
    private let listener: Listener
    private let lateness: Lateness

    fileprivate final class Lateness: Sendable {
        private let duration = Mutex(Duration.zero)

        var value: Duration {
            get { duration.withLock { $0 } }
            set { duration.withLock { $0 = newValue } }
        }
    }

    init(to server: SocketAddress) throws {
        let lateness = Lateness()
        self.lateness = lateness
        group = try EventLoopGroup(count: 1, name: "proxy")
        listener = try Listener(at: .loopback(port: 0), on: group) { client in
            let (clientSide, serverSide) = (Side(), Side(lateness))
            let stream = client.loop.connect(host: server.host, port: server.port, handler: serverSide)
            clientSide.begin(client, other: serverSide)
            serverSide.begin(stream, other: clientSide)
            return clientSide
        }
    }

    deinit {
        group.stop()
        group.join()
    }

    var address: SocketAddress { listener.address }

    /// From now on, answers take so much longer.
    func answer(after duration: Duration) { lateness.value = duration }

    /// Lives on its loop.
    private final class Side: StreamHandler {
        private var stream: Stream?
        private var other: Side?
        /// Nil for the side of the client, whose bytes pass at once.
        private let lateness: Lateness?
        private var isYoung = true
        private var waiting: [[UInt8]] = []

        private static let youth = Duration.milliseconds(200)

        init(_ lateness: Lateness? = nil) { self.lateness = lateness }

        func begin(_ stream: Stream, other: Side) {
            (self.stream, self.other) = (stream, other)
            stream.loop.schedule(after: Self.youth) { [weak self] in self?.isYoung = false }
        }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
            waiting.append(Array(bytes))
            guard let lateness, !isYoung, lateness.value > .zero else { return passOn() }
            stream.loop.schedule(after: lateness.value) { [weak self] in self?.passOn() }
        }

        private func passOn() {
            guard !waiting.isEmpty else { return }
            let bytes = waiting.removeFirst()
            other?.stream?.send(shared: bytes, 0..<bytes.count)
        }

        func receivedEnd(on stream: Stream) { stream.close() }

        func closed(_ stream: Stream, reason: CloseReason) {
            other?.stream?.close()
            (self.stream, other) = (nil, nil)
        }
    }
}
