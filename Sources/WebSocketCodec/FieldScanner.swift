import HearthBytes

/// Walks over the tokens and separators of a header field value; optional white space goes with the one before it.
package struct FieldScanner {
    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        skipWhitespace()
    }

    var isAtEnd: Bool { index == bytes.count }

    /// Passes over `separator`, if it comes next.
    mutating func skip(_ separator: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == separator else { return false }
        index += 1
        skipWhitespace()
        return true
    }

    /// The token that comes next, if one does (RFC 9110 section 5.6.2).
    mutating func token() -> String? {
        let start = index
        while index < bytes.count, Self.isTokenByte(bytes[index]) { index += 1 }
        guard index > start else { return nil }
        defer { skipWhitespace() }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    /// The content of the quoted string that comes next, if one does and is a token when unescaped.
    mutating func quotedToken() -> String? {
        guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return nil }
        var content: [UInt8] = []
        var position = index + 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            if bytes[position] == UInt8(ascii: "\\") { position += 1 }
            guard position < bytes.count, Self.isTokenByte(bytes[position]) else { return nil }
            content.append(bytes[position])
            position += 1
        }
        guard position < bytes.count, !content.isEmpty else { return nil }
        index = position + 1
        skipWhitespace()
        return String(decoding: content, as: UTF8.self)
    }

    private mutating func skipWhitespace() {
        while index < bytes.count, bytes[index] == UInt8(ascii: " ") || bytes[index] == UInt8(ascii: "\t") {
            index += 1
        }
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}

extension FieldScanner {
    /// Whether `field` is a list with `token`, which is in lower case; the case of the list does not matter.
    package static func list(_ field: [UInt8]?, contains token: String) -> Bool {
        guard let field else { return false }
        return field.split(separator: UInt8(ascii: ",")).contains { element in
            var scanner = FieldScanner(Array(element))
            return scanner.token()?.lowercased() == token && scanner.isAtEnd
        }
    }
}
