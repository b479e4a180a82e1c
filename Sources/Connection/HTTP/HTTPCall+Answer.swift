package import HearthClientSession
package import HearthClientTransport
import HearthHTTPCodec
import HearthServerCodecs

extension HTTPCall {
    /// Makes the request, and answers the body of a 200, of up to 64 MiB.
    ///
    /// - parameter loop: a running loop.
    /// - throws: `refused` with `HTTP` and the status for other answers, with the message that they carry.
    package func answer(
        on loop: any ClientLoop, options: ConnectionOptions = ConnectionOptions()
    ) async throws(ConnectionError) -> [UInt8] {
        let answer = try await anyAnswer(on: loop, options: options)
        guard answer.status == .ok else { throw answer.refusal }
        return answer.body
    }
}

extension HTTPAnswer {
    /// The reason in the body, or that of the status.
    package var message: String {
        let text = ErrorBody.message(in: body) ?? "\(status.reason)"
        return denialReason.map { "\(text): \($0)" } ?? text
    }

    /// The error for an unexpected answer.
    package var refusal: ConnectionError { .refused(status: "HTTP \(status.code)", text: message) }
}
