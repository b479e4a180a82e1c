/// The key of an opening handshake and its answer (RFC 6455 sections 4.1 and 4.2.2).
enum HandshakeKey {
    private static let alphabet = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let guid = [UInt8]("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)

    /// `Sec-WebSocket-Accept` for a `Sec-WebSocket-Key`.
    static func accept(_ key: [UInt8]) -> [UInt8] { base64(SHA1.digest(key + guid)) }

    /// Whether `key` is 16 bytes in base64.
    static func isValid(_ key: [UInt8]) -> Bool {
        key.count == 24 && key.suffix(2).elementsEqual("==".utf8) && key.dropLast(2).allSatisfy(alphabet.contains)
    }

    /// RFC 4648 section 4.
    static func base64(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for digit in 0..<4 {
                text.append(digit <= group.count ? alphabet[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "="))
            }
        }
        return text
    }
}
