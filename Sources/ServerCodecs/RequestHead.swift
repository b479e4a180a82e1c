package import HearthHTTPCodec

/// The request line and header fields of one request, checked and ready to route.
package struct RequestHead: Sendable {
    /// nil for a method this server does not know; `methodName` has its bytes.
    package let method: HTTPMethod?
    /// 0 or 1; later minor versions of HTTP/1 count as 1 (RFC 9110 2.5).
    package let minorVersion: Int
    package let headers: HeaderFields
    /// nil without `Content-Length`, and so for a chunked body.
    package let contentLength: Int?
    package let isChunked: Bool
    /// The connection stays open after the answer. Never for HTTP/1.0, even if requested.
    package let keepAlive: Bool
    /// The client waits for `100 Continue` before it sends the body (RFC 9110 10.1.1).
    package let expectsContinue: Bool
    /// A GET of HTTP/1.1 whose `Connection` has `upgrade` and whose `Upgrade` has `websocket` (RFC 6455 4.1). When it
    /// is answered with 101, the bytes after the head belong to the next protocol.
    package let isWebSocketUpgrade: Bool
    private let methodRange: Range<Int>
    private let target: RequestTarget
    private let hostRange: Range<Int>

    /// `line` and `framing` come from `headers`.
    init(_ line: HeadParser.RequestLine, _ headers: HeaderFields, _ framing: MessageFraming) throws(HTTPFailure) {
        let minorVersion = min(line.minorVersion, 1)
        try framing.validate(minorVersion: minorVersion)
        let (method, target) = try headers.bytes.span.withUnsafeBytes { bytes throws(HTTPFailure) in
            let method = HTTPMethod(bytes.bindMemory(to: UInt8.self).extracting(line.method).span)
            return (method, try RequestTarget(bytes, in: line.target, method: method))
        }
        if minorVersion > 0, framing.host == nil { throw .missingHost }
        // The host of an absolute target replaces the field (RFC 9112 3.2.2), but both must be well formed.
        for position in framing.host ?? 0..<0 where !headers.bytes[position].isHostByte { throw .malformedHost }
        for position in target.authority ?? 0..<0 where !headers.bytes[position].isHostByte { throw .malformedHost }
        self.method = method
        self.minorVersion = minorVersion
        self.headers = headers
        contentLength = framing.contentLength
        isChunked = framing.isChunked
        keepAlive = minorVersion > 0 && !framing.closesConnection
        expectsContinue = framing.expectsContinue && minorVersion > 0 && (isChunked || contentLength ?? 0 > 0)
        isWebSocketUpgrade = framing.asksForWebSocket && method == .get && minorVersion > 0
        methodRange = line.method
        self.target = target
        hostRange = target.authority ?? framing.host ?? 0..<0
    }

    package var methodName: ArraySlice<UInt8> { headers.bytes[methodRange] }

    /// The path as it came, percent escapes included: starts with `/`, or is `*` (OPTIONS only), or is empty in an
    /// absolute target that has none, which means `/`.
    package var path: ArraySlice<UInt8> { headers.bytes[target.path] }

    /// The segments of the path after the first slash, decoded: `/a%20b/` is `a b` and an empty one.
    package var segments: [ArraySlice<UInt8>] {
        path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { PercentDecoder.decode($0, isForm: false) }
    }

    /// The parameters after the first `?`.
    package var query: QueryString { QueryString(headers.bytes[target.query]) }

    /// `name` or `name:port` from the target or the `Host` field; may be empty.
    package var host: ArraySlice<UInt8> { headers.bytes[hostRange] }

    /// The token after `Authorization: Bearer`, the scheme in any case (RFC 6750 2.1); nil where another scheme is
    /// named, which is meant for somebody on the way.
    package var bearer: ArraySlice<UInt8>? {
        guard let field = headers.first("authorization") else { return nil }
        let words = field.split(separator: UInt8(ascii: " "))
        guard words.count == 2, String(decoding: words[0], as: UTF8.self).lowercased() == "bearer" else { return nil }
        return words[1]
    }

    package var hasBody: Bool { isChunked || contentLength ?? 0 > 0 }
}

/// Where the parts of a request target lie: origin-form, absolute-form or asterisk-form (RFC 9112 3.2). Bytes that a
/// URI would have to escape, such as raw UTF-8, pass: some clients send them (rest.md 1).
struct RequestTarget {
    let authority: Range<Int>?
    let path: Range<Int>
    let query: Range<Int>

    init(_ bytes: UnsafeRawBufferPointer, in target: Range<Int>, method: HTTPMethod?) throws(HTTPFailure) {
        var start = target.lowerBound
        let end = target.upperBound
        var authority: Range<Int>?
        if bytes[start] != UInt8(ascii: "/") {
            if target.count == 1, bytes[start] == UInt8(ascii: "*"), method == .options {
                self.authority = nil
                path = target
                query = end..<end
                return
            }
            start = try Self.endOfScheme(bytes, in: target)
            let authorityStart = start
            while start < end, bytes[start] != UInt8(ascii: "/"), bytes[start] != UInt8(ascii: "?") { start += 1 }
            guard start > authorityStart else { throw .malformedTarget }
            authority = authorityStart..<start
        }
        var mark = start
        while mark < end, bytes[mark] != UInt8(ascii: "?") { mark += 1 }
        self.authority = authority
        path = start..<mark
        query = min(mark + 1, end)..<end
    }

    private static func endOfScheme(
        _ bytes: UnsafeRawBufferPointer, in target: Range<Int>
    ) throws(HTTPFailure) -> Int {
        for scheme in ["http://", "https://"] as [StaticString] where target.count >= scheme.utf8CodeUnitCount {
            let end = target.lowerBound + scheme.utf8CodeUnitCount
            if bytes.equals(scheme, in: target.lowerBound..<end) { return end }
        }
        throw .malformedTarget
    }
}
