/// Why a text is not a value that can be stored, and where.
@usableFromInline package struct JSONError: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The text ends inside a value.
        case unexpectedEnd
        case unexpectedByte(UInt8)
        /// Something other than white space after the value.
        case trailingBytes
        case invalidNumber
        /// The number is beyond the range of a double.
        case numberTooLarge
        case invalidUTF8
        /// A raw byte 0x00–0x1F inside a string.
        case controlCharacter(UInt8)
        case invalidEscape
        /// The text is longer than `JSONLimits.maximumTextByteCount`.
        case textTooLong
        case stringTooLong(limit: Int)
        case tooDeep(limit: Int)
        case key(KeyError)
        /// A key that starts with `.` and is not `.priority`, `.value` or `.sv`.
        case unknownMetadata
        /// A priority is null, a number, a string, or a server value.
        case invalidPriority
        /// `.value` holds an object or array, or occurs together with children.
        case invalidValueWrapper
        /// `.sv` is `"timestamp"` or `{"increment":<number>}` and occurs only alone or with `.priority`.
        case invalidServerValue
    }

    package var kind: Kind
    /// Bytes before the place of the error; for a key the place of its opening quote.
    package var offset: Int

    @inline(never)
    package init(_ kind: Kind, at offset: Int) {
        self.kind = kind
        self.offset = offset
    }

    /// Line and column of the error in the text that was parsed, both counted from 1, columns in characters (code
    /// points).
    package func position(in text: RawSpan) -> (line: Int, column: Int) {
        text.withUnsafeBytes { text in
            var (line, column) = (1, 1)
            for byte in text.prefix(offset) {
                if byte == UInt8(ascii: "\n") {
                    line += 1
                    column = 1
                } else if byte & 0xC0 != 0x80 {
                    column += 1
                }
            }
            return (line, column)
        }
    }

    package func position(in text: [UInt8]) -> (line: Int, column: Int) { position(in: text.span.bytes) }
}

extension JSONError: CustomStringConvertible {
    /// The message, without the position. Quotes at most one character of the text.
    @usableFromInline package var description: String {
        switch kind {
        case .unexpectedEnd: "the JSON text ends too early"
        case .unexpectedByte(let byte) where byte > 0x20 && byte < 0x7F:
            "unexpected character \(Unicode.Scalar(byte))"
        case .unexpectedByte(let byte): "unexpected byte 0x\(String(byte, radix: 16, uppercase: true))"
        case .trailingBytes: "unexpected text after the JSON value"
        case .invalidNumber: "malformed number"
        case .numberTooLarge: "the number is out of range"
        case .invalidUTF8: "the string is not valid UTF-8"
        case .controlCharacter(let byte): "unescaped control character 0x\(String(byte, radix: 16, uppercase: true))"
        case .invalidEscape: "malformed escape sequence"
        case .textTooLong: "the JSON text is too long"
        case .stringTooLong(let limit): "the string is longer than \(limit) bytes"
        case .tooDeep(let limit): "the value is deeper than \(limit) levels"
        case .key(let error): error.description
        case .unknownMetadata: "a key starts with a dot and is not .priority, .value or .sv"
        case .invalidPriority: "a priority is neither null, a number nor a string"
        case .invalidValueWrapper: ".value holds something other than a leaf or stands beside children"
        case .invalidServerValue: "unknown server value"
        }
    }
}
