/// Writes one request at the end of an output buffer, in the role of the client: `begin`, any `header`s, `end`.
package enum RequestWriter {
    /// `target` is the path with its query, percent-encoded; bytes that would end it are encoded here. `host` is `name`
    /// or `name:port`.
    package static func begin(
        _ method: HTTPMethod, target: Span<UInt8>, host: Span<UInt8>, into output: inout [UInt8]
    ) {
        output.append(literal: method.name)
        output.append(literal: " ")
        if target.isEmpty { output.append(UInt8(ascii: "/")) }
        for index in target.indices { output.append(targetByte: target[index]) }
        output.append(literal: " HTTP/1.1\r\n")
        output.appendHeader("Host", host)
    }

    /// `name` is a token. Control bytes in `value` become spaces, so a value cannot add lines.
    package static func header(_ name: StaticString, _ value: Span<UInt8>, into output: inout [UInt8]) {
        output.appendHeader(name, value)
    }

    package static func header(_ name: StaticString, _ value: StaticString, into output: inout [UInt8]) {
        value.withUTF8Buffer { output.appendHeader(name, $0.span) }
    }

    /// Ends a request without a body.
    package static func end(into output: inout [UInt8]) { output.append(literal: "\r\n") }

    /// Ends a request with a body, which may be empty.
    package static func end(body: Span<UInt8>, into output: inout [UInt8]) {
        output.appendHeader("Content-Length", body.count)
        output.append(literal: "\r\n")
        output.append(body)
    }
}

extension [UInt8] {
    fileprivate mutating func append(targetByte byte: UInt8) {
        guard byte <= space || byte == 0x7F else { return append(byte) }
        append(UInt8(ascii: "%"))
        if byte < 0x10 { append(UInt8(ascii: "0")) }
        append(hexadecimal: Int(byte))
    }
}
