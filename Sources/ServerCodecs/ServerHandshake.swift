package import HearthWebSocketCodec

/// A server's answer to an opening handshake that it accepts (RFC 6455 section 4.2).
package struct ServerHandshake: Sendable {
    /// The whole 101 response. It names nothing that was not asked for, and `Connection` holds `Upgrade` alone, because
    /// there are clients that read it by hand (Protocol.md 2.3).
    package let response: [UInt8]
    /// The agreed compression.
    package let deflate: DeflateParameters?

    /// Judges a request that was parsed as HTTP.
    ///
    /// - Parameters:
    ///   - policy: the acceptable compression; nil declines it.
    ///   - field: the value of the header field of that lower-case name, nil if there is none; several fields of one
    ///     name are one value with commas between (RFC 9110 section 5.3).
    package init(
        method: [UInt8], version: (major: Int, minor: Int), deflate policy: DeflatePolicy?,
        field: (_ name: String) -> [UInt8]?
    ) throws(HandshakeRefusal) {
        guard method.elementsEqual("GET".utf8) else { throw .badRequest("the method must be GET") }
        guard version >= (1, 1) else { throw .badRequest("HTTP/1.1 is required") }
        guard FieldScanner.list(field("upgrade"), contains: "websocket") else {
            throw .upgradeRequired("this is a WebSocket endpoint")
        }
        guard FieldScanner.list(field("connection"), contains: "upgrade") else {
            throw .badRequest("Connection must hold Upgrade")
        }
        guard field("host") != nil else { throw .badRequest("Host is missing") }
        guard let version = field("sec-websocket-version"), version.elementsEqual("13".utf8) else {
            throw .upgradeRequired("Sec-WebSocket-Version must be 13")
        }
        guard let key = field("sec-websocket-key"), HandshakeKey.isValid(key) else {
            throw .badRequest("Sec-WebSocket-Key must be 16 bytes in base64")
        }
        guard let extensions = ExtensionElement.list(field("sec-websocket-extensions") ?? []) else {
            throw .badRequest("Sec-WebSocket-Extensions is malformed")
        }
        let chosen = policy?.choose(from: extensions)
        var response = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        response += "Sec-WebSocket-Accept: \(String(decoding: HandshakeKey.accept(key), as: UTF8.self))\r\n"
        if let chosen { response += "Sec-WebSocket-Extensions: \(chosen.answer.text(isAnswer: true))\r\n" }
        self.response = [UInt8]((response + "\r\n").utf8)
        self.deflate = chosen?.agreed
    }
}

/// Why a server does not accept an opening handshake (RFC 6455 section 4.2.2). The transport ends after the response.
package struct HandshakeRefusal: Error, Equatable, Sendable {
    /// 400, or 426 if another request would be accepted.
    package let status: Int
    package let reason: String

    static func badRequest(_ reason: String) -> HandshakeRefusal { HandshakeRefusal(status: 400, reason: reason) }
    static func upgradeRequired(_ reason: String) -> HandshakeRefusal {
        HandshakeRefusal(status: 426, reason: reason)
    }

    /// The whole response, with the reason as its body.
    package var response: [UInt8] {
        var text = "HTTP/1.1 \(status) "
        if status == 426 {
            // RFC 9110 section 15.5.22 and RFC 6455 section 4.4 want both fields.
            text += "Upgrade Required\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            text += "Connection: Upgrade, close\r\n"
        } else {
            text += "Bad Request\r\nConnection: close\r\n"
        }
        text += "Content-Type: text/plain\r\nContent-Length: \(reason.utf8.count + 1)\r\n\r\n\(reason)\n"
        return [UInt8](text.utf8)
    }
}
