/// Reads JSON text one step at a time, for messages whose members are known: the envelope is walked, and the values in it are
/// skipped, to be parsed by ``CanonicalJSON`` where they are data.
///
/// The bytes must outlive the reader. Skipped values are checked for their structure only, to any depth: skipping uses no stack.
package struct JSONReader {
    package let bytes: UnsafeRawBufferPointer
    package private(set) var offset = 0

    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The first byte of the next value, white space skipped, which tells its kind.
    package mutating func peek() throws(JSONError) -> UInt8 {
        skipWhiteSpace()
        guard offset < bytes.count else { throw JSONError(.unexpectedEnd, at: offset) }
        return bytes[offset]
    }

    /// Visits the members of the object that begins here. `body` gets the key's text between the quotes, as it stands, and must
    /// read or skip the value.
    package mutating func forEachMember(
        _ body: (inout JSONReader, UnsafeRawBufferPointer) throws(JSONError) -> Void
    ) throws(JSONError) {
        try expect(UInt8(ascii: "{"))
        if try peek() == UInt8(ascii: "}") {
            offset += 1
            return
        }
        while true {
            let key = try stringText()
            try expect(UInt8(ascii: ":"))
            try body(&self, key)
            let byte = try peek()
            offset += 1
            if byte == UInt8(ascii: "}") { return }
            guard byte == UInt8(ascii: ",") else { throw JSONError(.unexpectedByte(byte), at: offset - 1) }
        }
    }

    /// The bytes of a string, escapes resolved; unpaired surrogates as ED A0…BF xx.
    package mutating func string() throws(JSONError) -> [UInt8] {
        let text = try stringText()
        guard text.contains(UInt8(ascii: "\\")) else { return Array(text) }
        var out: [UInt8] = []
        out.reserveCapacity(text.count)
        JSONText.appendUnescaped(text, to: &out)
        return out
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
        return UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
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
                _ = try stringText()
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

    private mutating func stringText() throws(JSONError) -> UnsafeRawBufferPointer {
        try expect(UInt8(ascii: "\""))
        let start = offset
        while true {
            skipPlainBytes()
            guard offset < bytes.count else { break }
            switch bytes[offset] {
            case UInt8(ascii: "\""):
                offset += 1
                return UnsafeRawBufferPointer(rebasing: bytes[start..<offset - 1])
            case UInt8(ascii: "\\"):
                guard let escape = JSONEscape(bytes, at: offset) else { throw JSONError(.invalidEscape, at: offset) }
                offset += escape.byteCount
            case ..<0x20:
                throw JSONError(.controlCharacter(bytes[offset]), at: offset)
            default:
                offset += 1
            }
        }
        throw JSONError(.unexpectedEnd, at: bytes.count)
    }

    /// Skips bytes that mean nothing in a string, eight at a time.
    private mutating func skipPlainBytes() {
        // Invariant: offset + 8 <= count, so the load stays within the bytes.
        while offset + ByteLanes.count <= bytes.count {
            let word = ByteLanes.load(bytes, offset)
            let marks =
                ByteLanes.notPlain(word) | ByteLanes.equal(word, UInt8(ascii: "\""))
                | ByteLanes.equal(word, UInt8(ascii: "\\"))
            if marks != 0 {
                offset += ByteLanes.first(marks)
                return
            }
            offset += ByteLanes.count
        }
    }

    private mutating func expect(_ byte: UInt8) throws(JSONError) {
        let found = try peek()
        guard found == byte else { throw JSONError(.unexpectedByte(found), at: offset) }
        offset += 1
    }

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

extension UnsafeRawBufferPointer {
    /// Whether the bytes are those of a literal.
    package func equals(_ literal: StaticString) -> Bool {
        guard count == literal.utf8CodeUnitCount else { return false }
        for index in 0..<count where self[index] != literal.utf8Start[index] { return false }
        return true
    }
}
