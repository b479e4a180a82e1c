import HearthEventLoop
import HearthHTTPCodec
import HearthClient

/// A server for HTTP whose answers come when the test gives them.
final class ScriptedHTTP: Sendable {
    /// What somebody asks, and waits for the answer.
    struct Question: Sendable {
        /// What stands after the last slash or colon of the path: `token`, `lookup`, …
        let operation: String
        let body: String
        fileprivate let stream: Stream

        func answer(_ json: String, status: Int = 200) {
            let head = "HTTP/1.1 \(status) Answer\r\nContent-Length: \(json.utf8.count)\r\n\r\n"
            stream.loop.execute { [stream] in stream.send(shared: Array((head + json).utf8)) }
        }

        /// A refusal as the endpoints for accounts make it.
        func refuse(_ word: String) { answer(#"{"error":{"message":"\#(word)"}}"#, status: 400) }
    }

    private let group: EventLoopGroup
    private let listener: Listener
    private let heard = AsyncStream.makeStream(of: Question.self)

    /// - parameter script: called on the server's thread with each question, which may be answered later. False for one
    ///   that is left to `next`.
    init(_ script: @escaping @Sendable (Question) -> Bool = { _ in false }) throws {
        group = try EventLoopGroup(count: 1, name: "questions")
        let heard = heard.continuation
        listener = try Listener(at: .loopback(port: 0), on: group) { _ in
            Reader { question in if !script(question) { heard.yield(question) } }
        }
    }

    deinit {
        group.stop()
        group.join()
    }

    var urlText: String { "http://\(listener.address)" }

    /// Waits for the next question that the script has left.
    func next() async -> Question? {
        for await question in heard.stream { return question }
        return nil
    }

    private final class Reader: StreamHandler {
        private let onQuestion: (Question) -> Void
        private var decoder = RequestDecoder()
        private var operation = ""
        private var body: [UInt8] = []

        init(_ onQuestion: @escaping (Question) -> Void) { self.onQuestion = onQuestion }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
            var input = UnsafeRawBufferPointer(bytes)
            while let event = decoder.next(&input) {
                switch event {
                case .head(let head):
                    let path = String(decoding: head.path, as: UTF8.self)
                    operation = String(path[path.indices.last { "/:".contains(path[$0]) }.map(path.index(after:))!...])
                case .body(let bytes): body += bytes
                case .end:
                    onQuestion(
                        Question(
                            operation: operation, body: String(decoding: body, as: UTF8.self), stream: stream))
                case .failure: stream.close()
                }
            }
        }

        func closed(_ stream: Stream, reason: CloseReason) {}
    }
}
