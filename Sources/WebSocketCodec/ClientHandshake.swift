import HearthBytes

/// A client's opening handshake (RFC 6455 section 4.1).
package struct ClientHandshake: Sendable {
    /// The whole request.
    package let request: [UInt8]
    private let key: [UInt8]
    private let offers: [DeflateOffer]

    /// Why there is no connection.
    package enum Failure: Error, Equatable, Sendable {
        /// The host or path is empty or holds bytes that would end a line or a word of the request.
        case invalidTarget
        /// The server answered with this status instead of 101.
        case status(Int)
        /// The named field of the response is missing or invalid.
        case field(String)
    }

    /// - Parameters:
    ///   - host: as in `Host`, with the port if it is not the default.
    ///   - path: with the query, starting with a slash, percent-encoded.
    ///   - nonce: 16 random bytes, new for each connection.
    ///   - offers: the offers for compression, best first. A `clientMaxWindowBits` of 8 counts as 9, because zlib's raw
    ///     deflate has no window of 256 bytes.
    package init(
        host: String, path: String, nonce: [UInt8], offers: [DeflateOffer] = []
    ) throws(Failure) {
        let isGraphic = { (byte: UInt8) in byte > 0x20 && byte != 0x7F }
        guard !host.isEmpty, host.utf8.allSatisfy(isGraphic), path.utf8.first == UInt8(ascii: "/"),
            path.utf8.allSatisfy(isGraphic)
        else { throw .invalidTarget }
        self.offers = offers.map { offer in
            var offer = offer
            offer.clientMaxWindowBits = offer.clientMaxWindowBits.map { max($0, DeflateParameters.windowBitsMin) }
            return offer
        }
        precondition(nonce.count == 16, "a nonce has 16 bytes")
        key = Base64.standard.encode(nonce)
        var request = "GET \(path) HTTP/1.1\r\nHost: \(host)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        request += "Sec-WebSocket-Key: \(String(decoding: key, as: UTF8.self))\r\nSec-WebSocket-Version: 13\r\n"
        if !self.offers.isEmpty {
            let texts = self.offers.map { $0.text(isAnswer: false) }
            request += "Sec-WebSocket-Extensions: \(texts.joined(separator: ", "))\r\n"
        }
        self.request = [UInt8]((request + "\r\n").utf8)
    }

    /// Checks a response that was parsed as HTTP and returns the agreed compression.
    ///
    /// - Parameter field: the value of the header field of that lower-case name, nil if there is none; several fields
    ///   of one name are one value with commas between (RFC 9110 section 5.3).
    package func verify(
        status: Int, field: (_ name: String) -> [UInt8]?
    ) throws(Failure) -> DeflateParameters? {
        guard status == 101 else { throw .status(status) }
        guard FieldScanner.list(field("upgrade"), contains: "websocket") else { throw .field("upgrade") }
        guard FieldScanner.list(field("connection"), contains: "upgrade") else { throw .field("connection") }
        guard field("sec-websocket-accept") == HandshakeKey.accept(key) else { throw .field("sec-websocket-accept") }
        // None was asked for.
        guard field("sec-websocket-protocol") == nil else { throw .field("sec-websocket-protocol") }

        guard let answers = ExtensionElement.list(field("sec-websocket-extensions") ?? []), answers.count <= 1 else {
            throw .field("sec-websocket-extensions")
        }
        guard let answer = answers.first else { return nil }
        guard answer.name == DeflateOffer.extensionName,
            let accepted = DeflateOffer(answer.parameters, isAnswer: true),
            let agreed = offers.lazy.compactMap({ $0.agreed(answer: accepted) }).first
        else { throw .field("sec-websocket-extensions") }
        return agreed
    }
}
