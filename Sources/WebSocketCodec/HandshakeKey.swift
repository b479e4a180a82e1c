import HearthBytes

/// The key of an opening handshake and its answer (RFC 6455 sections 4.1 and 4.2.2).
package enum HandshakeKey {
    private static let guid = [UInt8]("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)

    /// `Sec-WebSocket-Accept` for a `Sec-WebSocket-Key`.
    package static func accept(_ key: [UInt8]) -> [UInt8] {
        var hash = SHA1()
        key.withUnsafeBytes { hash.update($0) }
        guid.withUnsafeBytes { hash.update($0) }
        return hash.finish().withUnsafeBytes { Base64.standard.encode($0) }
    }

    /// Whether `key` is 16 bytes in Base64. Clients may set bits of the last digit that mean nothing.
    package static func isValid(_ key: [UInt8]) -> Bool {
        key.count == 24 && key.suffix(2).elementsEqual("==".utf8)
            && key.dropLast(2).allSatisfy { Base64.standard.digit($0) != nil }
    }
}
