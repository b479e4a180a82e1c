/// Reads JSON text one step at a time, for messages whose members are known: the envelope is walked, and the values in
/// it are skipped, to be parsed by ``CanonicalJSON`` where they are data.
///
/// The bytes must outlive the reader. Skipped values are checked for their structure only, to any depth: skipping uses
/// no stack. Messages are short and every one is read, so the steps between values are inlined into their callers.
@usableFromInline package struct JSONReader {
    @usableFromInline package let bytes: UnsafeRawBufferPointer
    @usableFromInline package var offset = 0

    @inlinable
    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The first byte of the next value, white space skipped, which tells its kind.
    @inlinable @inline(__always)
    package mutating func peek() throws(JSONError) -> UInt8 {
        if offset < bytes.count {
            let byte = bytes[offset]
            if byte > 0x20 { return byte }
        }
        return try peekBehindSpace()
    }

    @usableFromInline @inline(never)
    package mutating func peekBehindSpace() throws(JSONError) -> UInt8 {
        skipWhiteSpace()
        guard offset < bytes.count else { throw JSONError(.unexpectedEnd, at: offset) }
        return bytes[offset]
    }

    /// Visits the members of the object that begins here. `body` gets the key's raw text between the quotes, and must
    /// read or skip the value.
    @inlinable @inline(__always)
    package mutating func forEachMember(
        _ body: (inout JSONReader, UnsafeRawBufferPointer) throws(JSONError) -> Void
    ) throws(JSONError) {
        try expect(UInt8(ascii: "{"))
        if try peek() == UInt8(ascii: "}") {
            offset += 1
            return
        }
        while true {
            let key = try stringText().raw
            try expect(UInt8(ascii: ":"))
            try body(&self, key)
            let byte = try peek()
            offset += 1
            if byte == UInt8(ascii: "}") { return }
            guard byte == UInt8(ascii: ",") else { throw Self.unexpected(byte, at: offset - 1) }
        }
    }

    /// Visits the members of a text that is one object.
    package static func forEachMember(
        of text: [UInt8], _ body: (inout JSONReader, UnsafeRawBufferPointer) throws(JSONError) -> Void
    ) throws(JSONError) {
        try text.span.bytes.withUnsafeBytes { (text) throws(JSONError) in
            var reader = JSONReader(text)
            try reader.forEachMember(body)
            try reader.finish()
        }
    }

    /// The bytes of a string, escapes resolved; unpaired surrogates as ED A0…BF xx.
    package mutating func string() throws(JSONError) -> [UInt8] {
        try stringText().utf8
    }

    /// An integer of 64 bits.
    package mutating func integer() throws(JSONError) -> Int64 {
        _ = try peek()
        let start = offset
        let text = try skipValue()
        guard let value = JSONNumber.integer(text) else { throw JSONError(.invalidNumber, at: start) }
        return value
    }

    /// Skips a value and answers its text.
    package mutating func skipValue() throws(JSONError) -> UnsafeRawBufferPointer {
        let first = try peek()
        let start = offset
        switch first {
        case UInt8(ascii: "\""):
            _ = try stringText()
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            try skipNested()
        default:
            while offset < bytes.count, !Self.endsScalar(bytes[offset]) { offset += 1 }
            if offset == start { throw JSONError(.unexpectedByte(first), at: start) }
        }
        return bytes.part(start..<offset)
    }

    /// Nothing but white space follows.
    package var isAtEnd: Bool {
        mutating get {
            skipWhiteSpace()
            return offset == bytes.count
        }
    }

    /// Nothing but white space may follow.
    package mutating func finish() throws(JSONError) {
        skipWhiteSpace()
        if offset < bytes.count { throw JSONError(.trailingBytes, at: offset) }
    }

    private mutating func skipNested() throws(JSONError) {
        var depth = 0
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: "\""):
                offset += 1
                try skipString()
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 {
                    offset += 1
                    return
                }
            default: break
            }
            offset += 1
        }
        throw JSONError(.unexpectedEnd, at: offset)
    }

    /// Reads a string without copying it.
    @inlinable @inline(__always)
    package mutating func stringText() throws(JSONError) -> JSONStringText {
        try expect(UInt8(ascii: "\""))
        let start = offset
        // Most strings are names of a few plain letters.
        while offset < bytes.count {
            let byte = bytes[offset]
            if byte == UInt8(ascii: "\"") {
                offset += 1
                return JSONStringText(raw: bytes.part(start..<offset - 1), hasEscapes: false)
            }
            if offset - start == 2 || byte < 0x20 || byte == UInt8(ascii: "\\") { break }
            offset += 1
        }
        let hasEscapes = try skipString()
        return JSONStringText(raw: bytes.part(start..<offset - 1), hasEscapes: hasEscapes)
    }

    /// Skips the rest of a string, including the closing quote. Answers whether there were escapes.
    @usableFromInline @discardableResult
    package mutating func skipString() throws(JSONError) -> Bool {
        var hasEscapes = false
        while true {
            offset = JSONText.endOfPlainBytes(of: bytes, from: offset)
            guard offset < bytes.count else { break }
            switch bytes[offset] {
            case UInt8(ascii: "\""):
                offset += 1
                return hasEscapes
            case UInt8(ascii: "\\"):
                guard let escape = JSONEscape(bytes, at: offset) else { throw JSONError(.invalidEscape, at: offset) }
                offset += escape.byteCount
                hasEscapes = true
            case ..<0x20:
                throw JSONError(.controlCharacter(bytes[offset]), at: offset)
            default:
                offset += 1
            }
        }
        throw JSONError(.unexpectedEnd, at: bytes.count)
    }

    @inlinable @inline(__always)
    package mutating func expect(_ byte: UInt8) throws(JSONError) {
        let found = try peek()
        guard found == byte else { throw Self.unexpected(found, at: offset) }
        offset += 1
    }

    @usableFromInline @inline(never)
    static func unexpected(_ byte: UInt8, at offset: Int) -> JSONError { JSONError(.unexpectedByte(byte), at: offset) }

    private mutating func skipWhiteSpace() {
        while offset < bytes.count, Self.isWhiteSpace(bytes[offset]) { offset += 1 }
    }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    private static func endsScalar(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") || isWhiteSpace(byte)
    }
}

/// The raw text of a JSON string, between its quotes. Valid only as long as the whole text.
@usableFromInline package struct JSONStringText {
    @usableFromInline package let raw: UnsafeRawBufferPointer
    @usableFromInline package let hasEscapes: Bool

    @inlinable
    package init(raw: UnsafeRawBufferPointer, hasEscapes: Bool) {
        self.raw = raw
        self.hasEscapes = hasEscapes
    }

    /// The bytes meant, escapes resolved; unpaired surrogates as ED A0…BF xx.
    package var utf8: [UInt8] {
        guard hasEscapes else { return Array(raw) }
        var out: [UInt8] = []
        out.reserveCapacity(raw.count)
        JSONText.appendUnescaped(raw, to: &out)
        return out
    }

    /// Hands those bytes to `body`, without a copy unless there are escapes.
    package func withUTF8<Result, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard hasEscapes else { return try body(raw) }
        return try utf8.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try body(bytes) }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes are those of a literal.
    @inlinable @inline(__always)
    package func equals(_ literal: StaticString) -> Bool {
        guard count == literal.utf8CodeUnitCount else { return false }
        for index in 0..<count where self[index] != literal.utf8Start[index] { return false }
        return true
    }
}
