import HearthEventLoop

/// A server that answers anything with these bytes, and then ends the connection or says nothing more.
package final class BrokenServer: Sendable {
    private let group: EventLoopGroup
    private let listener: Listener
    private let heard = AsyncStream.makeStream(of: Void.self)

    package init(_ answer: String, ends: Bool = true) throws {
        group = try EventLoopGroup(count: 1, name: "broken")
        let bytes = Array(answer.utf8)
        let heard = heard.continuation
        listener = try Listener(at: .loopback(port: 0), on: group) { _ in
            Answerer(bytes: bytes, ends: ends) { heard.yield() }
        }
    }

    /// Waits until it was asked so many times more.
    package func requests(_ count: Int) async {
        for await _ in heard.stream.prefix(count) {}
    }

    deinit {
        group.stop()
        group.join()
    }

    package var urlText: String { "ws://\(listener.address)" }

    private final class Answerer: StreamHandler {
        private let bytes: [UInt8]
        private let ends: Bool
        private let onRequest: () -> Void

        init(bytes: [UInt8], ends: Bool, onRequest: @escaping () -> Void) {
            self.bytes = bytes
            self.ends = ends
            self.onRequest = onRequest
        }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
            stream.send(shared: self.bytes)
            onRequest()
            if ends { stream.close() }
        }

        func closed(_ stream: Stream, reason: CloseReason) {}
    }
}
