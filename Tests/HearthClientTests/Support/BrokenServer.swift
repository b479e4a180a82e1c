import EventLoop

/// A server that answers anything with these bytes, and then ends the connection.
final class BrokenServer: Sendable {
    private let group: EventLoopGroup
    private let listener: Listener

    init(_ answer: String) throws {
        group = try EventLoopGroup(count: 1, name: "broken")
        let bytes = Array(answer.utf8)
        listener = try Listener(at: .loopback(port: 0), on: group) { _ in Answerer(bytes: bytes) }
    }

    deinit {
        group.stop()
        group.join()
    }

    var urlText: String { "ws://\(listener.address)" }

    private final class Answerer: StreamHandler {
        private let bytes: [UInt8]

        init(bytes: [UInt8]) { self.bytes = bytes }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
            stream.send(shared: self.bytes)
            stream.close()
        }

        func closed(_ stream: Stream, reason: CloseReason) {}
    }
}
