import HearthHTTPCodec

extension HeadParser {
    struct RequestLine {
        let method: Range<Int>
        let target: Range<Int>
        let minorVersion: Int
    }

    mutating func requestLine() throws(HTTPFailure) -> RequestLine {
        let method = token()
        guard !method.isEmpty, bytes[position] == space else { throw .malformedRequestLine }
        let targetStart = position + 1
        position = bytes.firstByte(below: 0x21, from: targetStart)
        let target = targetStart..<position
        guard !target.isEmpty, bytes[position] == space else { throw .malformedRequestLine }
        position += 1
        guard let version = version() else { throw .malformedRequestLine }
        guard version.major == 1 else { throw .unsupportedVersion }
        guard endOfLine() else { throw .malformedRequestLine }
        return RequestLine(method: method, target: target, minorVersion: version.minor)
    }
}
