package import HearthClientTransport
package import HearthHTTPCodec

/// A whole answer.
package struct HTTPAnswer: Sendable {
    package var status: HTTPStatus
    package var body: [UInt8] = []
    /// Why the rules have denied the request, from a server in development mode.
    package let denialReason: String?

    package init(_ head: ResponseHead) {
        status = head.status
        denialReason = head.headers.first("x-hearth-denial").map { String(decoding: $0, as: UTF8.self) }
    }
}

extension HTTPCall {
    /// The longest body of an answer that is collected.
    private static let answerBytesMax = 64 << 20

    /// Makes the request, and returns any answer of up to 64 MiB.
    ///
    /// - parameter patience: how long the server may be silent.
    package func anyAnswer(
        on loop: any ClientLoop, options: ConnectionOptions = ConnectionOptions(), patience: Duration = .seconds(300)
    ) async throws(ConnectionError) -> HTTPAnswer {
        try await HTTPExchange.run(
            self, on: loop, options: options, patience: patience, bodyBytesMax: Self.answerBytesMax,
            reader: AnswerReader())
    }
}

private struct AnswerReader: ResponseReader {
    private var answer: HTTPAnswer?

    mutating func take(_ event: HTTPEvent<ResponseHead>) -> Result<HTTPAnswer, ConnectionError>? {
        switch event {
        case .head(let head): answer = HTTPAnswer(head)
        case .body(let bytes): answer?.body += bytes
        case .end: return answer.map { .success($0) }
        case .failure: break
        }
        return nil
    }
}
