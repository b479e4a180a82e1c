/// Reads the lines of a complete head (RFC 9112 2 to 5). The head ends with CRLF CRLF, holds no other empty line and no
/// LF without CR; so every scan below ends at a CR at the latest, and the byte after it exists.
package struct HeadParser {
    package let bytes: UnsafeRawBufferPointer
    package var position = 0

    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    struct StatusLine {
        let status: HTTPStatus
        let reason: Range<Int>
        let minorVersion: Int
    }

    /// The space after the code may be missing where the reason is: many servers write it so.
    mutating func statusLine() throws(HTTPFailure) -> StatusLine {
        guard let version = version() else { throw .malformedStatusLine }
        guard version.major == 1 else { throw .unsupportedVersion }
        guard position + 4 < bytes.count, bytes[position] == space else { throw .malformedStatusLine }
        var code = 0
        for digit in bytes[(position + 1)..<(position + 4)] {
            guard (0x30...0x39).contains(digit) else { throw .malformedStatusLine }
            code = code * 10 + Int(digit - 0x30)
        }
        position += 4
        guard code >= 100 else { throw .malformedStatusLine }
        var reason = position..<position
        if bytes[position] == space {
            position += 1
            reason = try text()
        }
        guard endOfLine() else { throw .malformedStatusLine }
        return StatusLine(status: HTTPStatus(code), reason: reason, minorVersion: version.minor)
    }

    /// Reads `count` header fields up to the empty line and tells `framing` of each.
    package mutating func fields(
        count: Int, framing: inout MessageFraming
    ) throws(HTTPFailure) -> [HeaderFields.Position] {
        var positions: [HeaderFields.Position] = []
        positions.reserveCapacity(count)
        for _ in 0..<count {
            let name = token()
            guard bytes[position] == UInt8(ascii: ":"), !name.isEmpty else {
                guard bytes[position].isBlank else { throw .malformedHeader }
                throw name.isEmpty ? .obsoleteLineFolding : .spaceBeforeColon
            }
            position += 1
            while bytes[position].isBlank { position += 1 }
            let value = trimmed(try text())
            guard endOfLine() else { throw .controlByte }
            try framing.note(name: name, value: value, in: bytes)
            positions.append(
                HeaderFields.Position(
                    nameStart: UInt32(name.lowerBound), nameEnd: UInt32(name.upperBound),
                    valueStart: UInt32(value.lowerBound), valueEnd: UInt32(value.upperBound)))
        }
        return positions
    }

    package mutating func token() -> Range<Int> {
        let start = position
        while bytes[position].isTokenByte { position += 1 }
        return start..<position
    }

    /// Field content or a reason: up to the CR. Any other control byte than a tab is refused, NUL and DEL among them.
    private mutating func text() throws(HTTPFailure) -> Range<Int> {
        let start = position
        position = bytes.firstByte(below: space, from: position)
        while bytes[position] == horizontalTab { position = bytes.firstByte(below: space, from: position + 1) }
        guard bytes[position] == carriageReturn else { throw .controlByte }
        return start..<position
    }

    private func trimmed(_ range: Range<Int>) -> Range<Int> {
        var end = range.upperBound
        while end > range.lowerBound, bytes[end - 1].isBlank { end -= 1 }
        return range.lowerBound..<end
    }

    /// `HTTP/` digit `.` digit, in upper case only (RFC 9112 2.3).
    package mutating func version() -> (major: Int, minor: Int)? {
        guard position + 8 < bytes.count else { return nil }
        let word = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        let major = bytes[position + 5], minor = bytes[position + 7]
        guard word & 0xFFFF_FFFF_FF00_FF00 == 0x4854_5450_2F00_2E00,  // "HTTP/", any, ".", any
            (0x30...0x39).contains(major), (0x30...0x39).contains(minor)
        else { return nil }
        position += 8
        return (Int(major - 0x30), Int(minor - 0x30))
    }

    /// Steps over CRLF. A CR without LF is left where it is.
    package mutating func endOfLine() -> Bool {
        guard bytes[position] == carriageReturn, bytes[position + 1] == lineFeed else { return false }
        position += 2
        return true
    }
}
