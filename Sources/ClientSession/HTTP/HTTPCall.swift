package import HearthClientTransport
package import HearthHTTPCodec

/// One HTTP request and its server.
package struct HTTPCall: Sendable {
    /// The longest body of an answer that is collected.
    private static let answerBytesMax = 64 << 20

    package var address: HTTPAddress
    package var method = HTTPMethod.get
    /// Empty for none.
    package var contentType: StaticString = ""
    package var body: [UInt8] = []
    /// The token in `Authorization: Bearer`; nil without this field.
    package var bearer: [UInt8]?

    package init(_ address: HTTPAddress) { self.address = address }

    /// The whole request. The connection ends with the answer.
    var bytes: [UInt8] {
        var request: [UInt8] = []
        RequestWriter.begin(
            method, target: Array(address.target.utf8).span, host: Array(address.authority.utf8).span, into: &request)
        RequestWriter.header("Connection", "close", into: &request)
        if let bearer { RequestWriter.header("Authorization", (Array("Bearer ".utf8) + bearer).span, into: &request) }
        guard method != .get else {
            RequestWriter.end(into: &request)
            return request
        }
        if contentType.utf8CodeUnitCount > 0 { RequestWriter.header("Content-Type", contentType, into: &request) }
        RequestWriter.end(body: body.span, into: &request)
        return request
    }

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
