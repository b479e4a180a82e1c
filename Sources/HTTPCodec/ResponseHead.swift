/// The status line and header fields of one response, checked.
package struct ResponseHead: Sendable {
    package let status: HTTPStatus
    /// 0 or 1; later minor versions of HTTP/1 count as 1.
    package let minorVersion: Int
    package let headers: HeaderFields
    /// nil without `Content-Length`. After HEAD it tells of a body that does not follow.
    package let contentLength: Int?
    package let isChunked: Bool
    /// The connection can carry another request after this response. Never for HTTP/1.0.
    package let keepAlive: Bool
    private let reasonRange: Range<Int>

    /// `line` and `framing` come from `headers`.
    init(
        _ line: HeadParser.StatusLine, _ headers: HeaderFields, _ framing: MessageFraming, endsWithConnection: Bool
    ) {
        status = line.status
        minorVersion = min(line.minorVersion, 1)
        self.headers = headers
        contentLength = framing.contentLength
        isChunked = framing.isChunked
        keepAlive = line.minorVersion > 0 && !framing.closesConnection && !endsWithConnection
        reasonRange = line.reason
    }

    /// The phrase after the code; any text, may be empty.
    package var reason: ArraySlice<UInt8> { headers.bytes[reasonRange] }
}
