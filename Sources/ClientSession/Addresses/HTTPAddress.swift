/// Where an HTTP request goes.
package struct HTTPAddress: Hashable, Sendable {
    /// A name or a numeric address, without brackets.
    package let host: String
    package let port: UInt16
    package let usesTLS: Bool
    /// Host and port, for the request's `Host`.
    package let authority: String
    /// Path and query, percent-encoded.
    package var target: String
}

extension HTTPAddress {
    /// Reads a URL, `http` or `https`; without a port it is 80 or 443.
    package init(_ text: String) throws(DatabaseURLError) {
        let parts = try URLParts(text)
        guard text.lowercased().hasPrefix("http") else {
            throw DatabaseURLError("the URL is neither http:// nor https://")
        }
        let query = parts.query.isEmpty ? "" : "?" + String(decoding: parts.query, as: UTF8.self)
        let usualPort: UInt16 = parts.isSecureScheme ? 443 : 80
        let path = parts.path.isEmpty ? "/" : String(decoding: parts.path, as: UTF8.self)
        self.init(
            host: parts.host, port: parts.port ?? usualPort, usesTLS: parts.isSecureScheme,
            authority: (parts.isIPv6 ? "[\(parts.host)]" : parts.host) + (parts.port.map { ":\($0)" } ?? ""),
            target: path + query)
    }
}
