import HearthClientTransport
package import HearthMemoryTransport
import HearthHTTPCodec
import HearthServerCodecs
import Synchronization

/// A server for HTTP whose answers come when the test gives them.
package final class ScriptedHTTP: Sendable {
    /// What somebody asks, and waits for the answer.
    package struct Question: Sendable {
        /// The text after the last slash or colon of the path: `token`, `lookup`, …
        package let operation: String
        package let body: String
        fileprivate let sendAnswer: @Sendable ([UInt8]) -> Void

        package func answer(_ json: String, status: Int = 200) {
            let head = "HTTP/1.1 \(status) Answer\r\nContent-Length: \(json.utf8.count)\r\n\r\n"
            sendAnswer(Array((head + json).utf8))
        }

        /// A refusal as the endpoints for accounts make it.
        package func refuse(_ word: String) { answer(#"{"error":{"message":"\#(word)"}}"#, status: 400) }
    }

    /// Where it is. Its short delays take no time.
    package let network: MemoryNetwork
    private let port: UInt16
    private let heard = AsyncStream.makeStream(of: Question.self)
    private static let ports = Atomic<UInt16>(1)

    /// - parameter script: called in the network's order with each question, which may be answered later. False for one
    ///   that is left to `next`.
    package init(
        in network: MemoryNetwork = ScriptedServer.makeNetwork(),
        _ script: @escaping @Sendable (Question) -> Bool = { _ in false }
    ) {
        self.network = network
        port = Self.ports.wrappingAdd(1, ordering: .relaxed).newValue
        let heard = heard.continuation
        let loop = network.startLoop(name: "questions")
        network.listen(at: "http", port: port) { stream in
            let answers = Answers(stream: stream)
            return Reader { operation, body in
                let question = Question(operation: operation, body: body) { bytes in
                    loop.execute { answers.stream.send(bytes) }
                }
                if !script(question) { heard.yield(question) }
            }
        }
    }

    deinit { network.stopListening(at: "http", port: port) }

    package var urlText: String { "http://http:\(port)" }

    private struct Answers: @unchecked Sendable {
        // Safe because: the stream is only used in the network's order.
        let stream: any ClientStream
    }

    /// Waits for the next question that the script has left.
    package func next() async -> Question? {
        for await question in heard.stream { return question }
        return nil
    }

    private final class Reader: ClientStreamHandler {
        private let onQuestion: (_ operation: String, _ body: String) -> Void
        private var decoder = RequestDecoder()
        private var operation = ""
        private var body: [UInt8] = []

        init(_ onQuestion: @escaping (_ operation: String, _ body: String) -> Void) { self.onQuestion = onQuestion }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: any ClientStream) {
            var input = UnsafeRawBufferPointer(bytes)
            while let event = decoder.next(&input) {
                switch event {
                case .head(let head):
                    let path = String(decoding: head.path, as: UTF8.self)
                    operation = String(path[path.indices.last { "/:".contains(path[$0]) }.map(path.index(after:))!...])
                case .body(let bytes): body += bytes
                case .end:
                    onQuestion(operation, String(decoding: body, as: UTF8.self))
                case .failure: stream.close()
                }
            }
        }

        func closed(_ stream: any ClientStream, because end: ClientStreamEnd) {}
    }
}
