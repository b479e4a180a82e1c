import HearthHTTPCodec
import HearthWebSocketCodec

/// The client's part of the WebSocket handshake, and the server's answer as it comes. Does no I/O.
struct OpeningHandshake {
    enum Progress {
        /// The answer is not complete.
        case incomplete
        /// The rest of the input is frames.
        case accepted
        case failed(ConnectionError)
    }

    /// An answer other than 101, and its body as it comes.
    private struct Refusal {
        var status: Int
        var reason: String
        var body: [UInt8] = []
    }

    private let handshake: ClientHandshake
    private var response = ResponseDecoder(limits: HTTPLimits(bodyBytesMax: 64 << 10))
    private var refusal: Refusal?

    init(_ url: DatabaseURL, lastSession: [UInt8]?) throws(ClientHandshake.Failure) {
        var random = SystemRandomNumberGenerator()
        let nonce = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        handshake = try ClientHandshake(
            host: url.authority, path: url.target(lastSession: lastSession), nonce: nonce)
    }

    /// The whole request.
    var request: [UInt8] { handshake.request }

    /// Takes the answer off the front of `input`.
    mutating func read(_ input: inout UnsafeRawBufferPointer) -> Progress {
        while let event = response.next(&input) {
            if let progress = take(event) { return progress }
        }
        return .incomplete
    }

    /// The server has ended the connection.
    mutating func finish() -> Progress { response.finish().flatMap { take($0) } ?? .incomplete }

    private mutating func take(_ event: HTTPEvent<ResponseHead>) -> Progress? {
        switch event {
        case .head(let head) where head.status == .switchingProtocols:
            do throws(ClientHandshake.Failure) {
                // No extension is offered, so none can be agreed on.
                _ = try handshake.verify(status: head.status.code) { head.headers.combined($0) }
            } catch {
                return .failed(.protocolError("the answer to the WebSocket handshake is wrong: \(error)"))
            }
        case .head(let head):
            let reason = String(decoding: head.reason, as: UTF8.self)
            refusal = Refusal(status: head.status.code, reason: reason)
        case .body(let bytes): refusal?.body.append(contentsOf: bytes)
        case .end:
            guard let refusal else { return .accepted }
            let text = ErrorBody.message(in: refusal.body) ?? refusal.reason
            return .failed(.disconnected(.handshakeRefused(status: refusal.status, text: text)))
        case .failure(let failure):
            return .failed(.protocolError("the answer to the WebSocket handshake is wrong: \(failure.reason)"))
        }
        return nil
    }
}
