package import HearthHTTPCodec

/// Writes one response at the end of an output buffer, in the role of the server.
///
/// The order is `begin`, any `header`s, then either `end(body:)`, or `end(contentLength:)` with the body queued by the
/// caller, or `beginStream` or `beginUntilClose`, `chunk`s and `endStream`. The writer knows the consequences of the
/// request: no body for HEAD, 204 and 304, no chunks for HTTP/1.0, `Connection: close` where the connection ends.
package struct ResponseWriter: Sendable {
    private enum Framing { case length, chunks, connection }

    private let minorVersion: Int
    private let isHead: Bool
    private var excludesBody = false
    private var framing = Framing.length
    /// Whether the connection may be used again after this response; ask once it is written.
    package private(set) var keepAlive: Bool

    package init(answering request: RequestHead) {
        minorVersion = request.minorVersion
        isHead = request.method == .head
        keepAlive = request.keepAlive
    }

    /// For the answer to bytes that were no request: it closes.
    package init() {
        minorVersion = 1
        isHead = false
        keepAlive = false
    }

    /// The answer that a request with `expectsContinue` waits for, before the response proper.
    package static func appendContinue(to output: inout [UInt8]) {
        output.append(literal: "HTTP/1.1 100 Continue\r\n\r\n")
    }

    /// The connection ends after this response; to be called before `begin`.
    package mutating func close() { keepAlive = false }

    package mutating func begin(_ status: HTTPStatus, date: HTTPDate, into output: inout [UInt8]) {
        excludesBody = status.excludesBody
        output.append(literal: "HTTP/1.1 ")
        output.append(decimal: status.code)
        output.append(literal: " ")
        output.append(literal: status.reason)
        output.append(literal: "\r\n")
        output.appendHeader("Date", date.bytes.span)
        if !keepAlive, !status.isInterim { output.append(literal: "Connection: close\r\n") }
    }

    /// `name` is a token. Control bytes in `value` become spaces, so a value cannot add lines.
    package func header(_ name: StaticString, _ value: Span<UInt8>, into output: inout [UInt8]) {
        output.appendHeader(name, value)
    }

    package func header(_ name: StaticString, _ value: StaticString, into output: inout [UInt8]) {
        value.withUTF8Buffer { output.appendHeader(name, $0.span) }
    }

    /// For names that a program gives. A name that is not a token is left out with its value.
    package func header(_ name: String, _ value: String, into output: inout [UInt8]) {
        guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenByte) else { return }
        output.append(contentsOf: name.utf8)
        output.append(literal: ": ")
        output.append(line: Array(value.utf8).span)
        output.append(literal: "\r\n")
    }

    package func header(_ name: StaticString, _ value: Int, into output: inout [UInt8]) {
        output.appendHeader(name, value)
    }

    /// Ends the head and writes the whole body.
    package func end(body: Span<UInt8>, into output: inout [UInt8]) {
        if end(contentLength: body.count, into: &output) { output.append(body) }
    }

    /// Ends the head for a body of `contentLength` bytes. True when these bytes must follow; false when the answer has
    /// no body.
    package func end(contentLength: Int, into output: inout [UInt8]) -> Bool {
        if !excludesBody { output.appendHeader("Content-Length", contentLength) }
        output.append(literal: "\r\n")
        return !excludesBody && !isHead
    }

    /// Ends the head for a body of unknown length: in chunks, or up to the end of the connection for HTTP/1.0.
    package mutating func beginStream(into output: inout [UInt8]) {
        framing = minorVersion > 0 ? .chunks : .connection
        if framing == .chunks, !excludesBody { output.append(literal: "Transfer-Encoding: chunked\r\n") }
        output.append(literal: "\r\n")
    }

    /// Ends the head for a body that goes up to the end of the connection, in any version; `close` was called. Its
    /// chunks are the bytes themselves.
    package mutating func beginUntilClose(into output: inout [UInt8]) {
        framing = .connection
        output.append(literal: "\r\n")
    }

    /// A piece of the stream; an empty one writes nothing.
    package func chunk(_ bytes: Span<UInt8>, into output: inout [UInt8]) {
        guard bytes.count > 0, !excludesBody, !isHead else { return }
        guard framing == .chunks else { return output.append(bytes) }
        output.append(hexadecimal: bytes.count)
        output.append(literal: "\r\n")
        output.append(bytes)
        output.append(literal: "\r\n")
    }

    package func endStream(into output: inout [UInt8]) {
        guard framing == .chunks, !excludesBody, !isHead else { return }
        output.append(literal: "0\r\n\r\n")
    }
}
