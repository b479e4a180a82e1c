import EventLoop

/// A server that answers anything with these bytes, and then ends the connection or says nothing more.
final class BrokenServer: Sendable {
    private let group: EventLoopGroup
    private let listener: Listener

    init(_ answer: String, ends: Bool = true) throws {
        group = try EventLoopGroup(count: 1, name: "broken")
        let bytes = Array(answer.utf8)
        listener = try Listener(at: .loopback(port: 0), on: group) { _ in Answerer(bytes: bytes, ends: ends) }
    }

    deinit {
        group.stop()
        group.join()
    }

    var urlText: String { "ws://\(listener.address)" }

    private final class Answerer: StreamHandler {
        private let bytes: [UInt8]
        private let ends: Bool

        init(bytes: [UInt8], ends: Bool) {
            self.bytes = bytes
            self.ends = ends
        }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
            stream.send(shared: self.bytes)
            if ends { stream.close() }
        }

        func closed(_ stream: Stream, reason: CloseReason) {}
    }
}
