import HearthEventLoop
import HearthHTTPCodec
import HearthServerCodecs
import Synchronization
import HearthSystem

/// A small HTTP server that takes events, on a port of this machine.
package final class EventReceiver: Sendable {
    package struct Post: Sendable {
        package var target: String
        package var id: String
        package var timestamp: String
        package var signature: String
        package var contentType: String
        /// The attribute `ref` in binary mode.
        package var ref: String?
        package var body: [UInt8]

        package var text: String { String(decoding: body, as: UTF8.self) }
    }

    private struct State {
        var posts: [Post] = []
        var group: EventLoopGroup?
        var listener: Listener?
    }

    private let state = Mutex(State())
    private let answer: @Sendable (Post) -> Int?
    fileprivate let fields: String
    package let port: UInt16

    /// - parameter fields: header fields of each answer, each with its line end.
    /// - parameter answer: the status for a post; nil for none, ever.
    package init(fields: String = "", answer: @escaping @Sendable (Post) -> Int? = { _ in 200 }) throws {
        self.answer = answer
        self.fields = fields
        let group = try EventLoopGroup(count: 1, name: "receiver")
        let box = Box()
        // Nobody else may get it between two starts.
        let listener = try Self.listen(at: FreePort.several(1)[0], on: group, box)
        port = listener.address.port
        box.receiver.withLock { $0 = Weak(self) }
        state.withLock { ($0.group, $0.listener) = (group, listener) }
    }

    deinit { stop() }

    package var url: String { "http://127.0.0.1:\(port)/hook" }
    package var posts: [Post] { state.withLock { $0.posts } }

    /// Ends it and all its connections.
    package func stop() {
        let group = state.withLock { state in
            defer { (state.group, state.listener) = (nil, nil) }
            state.listener?.close()
            return state.group
        }
        group?.stop()
        group?.join()
    }

    /// Starts over at the same port.
    package func restart() throws {
        stop()
        let group = try EventLoopGroup(count: 1, name: "receiver")
        let box = Box()
        box.receiver.withLock { $0 = Weak(self) }
        let listener = try Self.listen(at: port, on: group, box)
        state.withLock { ($0.group, $0.listener) = (group, listener) }
    }

    fileprivate func take(_ post: Post) -> Int? {
        let status = answer(post)
        state.withLock { $0.posts.append(post) }
        return status
    }

    private static func listen(at port: UInt16, on group: EventLoopGroup, _ box: Box) throws -> Listener {
        try Listener(at: .loopback(port: port), on: group) { _ in Exchange(box) }
    }

    fileprivate final class Box: Sendable {
        let receiver = Mutex<Weak?>(nil)
    }

    fileprivate final class Weak: Sendable {
        private let reference: @Sendable () -> EventReceiver?

        init(_ receiver: EventReceiver) { reference = { [weak receiver] in receiver } }

        var value: EventReceiver? { reference() }
    }
}

private final class Exchange: StreamHandler {
    private let box: EventReceiver.Box
    private var decoder = RequestDecoder()
    private var head: RequestHead?
    private var body: [UInt8] = []

    init(_ box: EventReceiver.Box) { self.box = box }

    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
        var input = UnsafeRawBufferPointer(bytes)
        while let event = decoder.next(&input) {
            switch event {
            case .head(let head): self.head = head
            case .body(let part): body.append(contentsOf: part)
            case .end: if let head { answer(head, on: stream) }
            case .failure: stream.abort()
            }
        }
    }

    private func answer(_ head: RequestHead, on stream: Stream) {
        func header(_ name: StaticString) -> String? {
            head.headers.first(name).map { String(decoding: $0, as: UTF8.self) }
        }
        let post = EventReceiver.Post(
            target: String(decoding: head.path, as: UTF8.self), id: header("webhook-id") ?? "",
            timestamp: header("webhook-timestamp") ?? "", signature: header("webhook-signature") ?? "",
            contentType: header("content-type") ?? "", ref: header("ce-ref"), body: body)
        let receiver = box.receiver.withLock { $0 }?.value
        guard let receiver, let status = receiver.take(post) else { return }
        let head = "HTTP/1.1 \(status) Status\r\n\(receiver.fields)Content-Length: 0\r\nConnection: close\r\n\r\n"
        stream.send(shared: Array(head.utf8))
        stream.close()
    }

    func closed(_ stream: Stream, reason: CloseReason) {}
}
