package import HearthHTTPCodec

/// One HTTP request and its server.
package struct HTTPCall: Sendable {
    package var address: HTTPAddress
    package var method = HTTPMethod.get
    /// Empty for none.
    package var contentType: StaticString = ""
    package var body: [UInt8] = []
    /// The token in `Authorization: Bearer`; nil without this field.
    package var bearer: [UInt8]?

    package init(_ address: HTTPAddress) { self.address = address }

    /// The whole request. The connection ends with the answer.
    var bytes: [UInt8] {
        var request: [UInt8] = []
        RequestWriter.begin(
            method, target: Array(address.target.utf8).span, host: Array(address.authority.utf8).span, into: &request)
        RequestWriter.header("Connection", "close", into: &request)
        if let bearer { RequestWriter.header("Authorization", (Array("Bearer ".utf8) + bearer).span, into: &request) }
        guard method != .get else {
            RequestWriter.end(into: &request)
            return request
        }
        if contentType.utf8CodeUnitCount > 0 { RequestWriter.header("Content-Type", contentType, into: &request) }
        RequestWriter.end(body: body.span, into: &request)
        return request
    }
}
