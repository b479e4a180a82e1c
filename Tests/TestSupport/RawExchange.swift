package import HearthEventLoop
import HearthHTTPCodec
import Synchronization

/// Bytes that a client sends on a connection of its own, and all that comes back until the server ends it.
package final class RawExchange: StreamHandler, @unchecked Sendable {
    // Safe because: after `connect` it is only used on the loop's thread.

    package struct Answer {
        let head: ResponseHead
        package var body: [UInt8] = []

        package var status: Int { head.status.code }

        /// The field of that name, in lower case.
        package func field(_ name: StaticString) -> String? {
            head.headers.first(name).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private let request: [UInt8]
    private let done: CheckedContinuation<[UInt8], Never>
    private var input: [UInt8] = []

    private init(_ request: [UInt8], _ done: CheckedContinuation<[UInt8], Never>) {
        (self.request, self.done) = (request, done)
    }

    /// The answers in their order; one that is not complete is left out.
    package static func run(_ request: String, on loop: EventLoop, port: UInt16) async -> [Answer] {
        let bytes = await withCheckedContinuation { done in
            let exchange = RawExchange(Array(request.utf8), done)
            loop.execute { _ = loop.connect(host: "127.0.0.1", port: port, handler: exchange) }
        }
        return bytes.withUnsafeBytes { bytes in
            var input = bytes
            var decoder = ResponseDecoder(limits: HTTPLimits(bodyBytesMax: 1 << 30))
            // Its answers have no body, even if they give a length.
            if request.hasPrefix("HEAD ") { decoder.requestMethod = .head }
            var answers: [Answer] = []
            var current: Answer?
            while let event = decoder.next(&input) {
                switch event {
                case .head(let head): current = Answer(head: head)
                case .body(let bytes): current?.body += bytes
                case .end: current.map { answers.append($0) }
                case .failure: return answers
                }
            }
            return answers
        }
    }

    package func opened(_ stream: Stream) { stream.send(shared: request) }

    package func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) { input += bytes }

    package func closed(_ stream: Stream, reason: CloseReason) { done.resume(returning: input) }
}
