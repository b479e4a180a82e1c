import HearthBytes

/// The header field that makes a browser save an answer (RFC 6266).
enum ContentDisposition {
    static func attachment(_ name: [UInt8]) -> [UInt8] {
        let isPlain = name.allSatisfy { isPlainByte($0) || $0 == UInt8(ascii: " ") }
        let fallback = name.map { isPlainByte($0) || $0 == UInt8(ascii: " ") ? $0 : UInt8(ascii: "_") }
        var field = Array("attachment; filename=\"".utf8) + fallback + Array("\"".utf8)
        guard !isPlain else { return field }
        field += "; filename*=UTF-8''".utf8
        for byte in name {
            if isPlainByte(byte) {
                field.append(byte)
            } else {
                let hex = String(byte, radix: 16, uppercase: true)
                field += "%\(byte < 16 ? "0" : "")\(hex)".utf8
            }
        }
        return field
    }

    /// Needs no escape in either form.
    private static func isPlainByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "-_.".utf8.contains(byte)
    }
}
