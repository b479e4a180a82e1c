import HearthHTTPCodec
package import HearthJSONTree

/// Where a database is, as Firebase writes it (Protocol.md 2.2): `ws://host:port/path?ns=name`, and the same with
/// `wss`, `http` and `https`.
///
/// With a port, the scheme decides about TLS; without one it is always TLS on port 443, as in all SDKs. The database is
/// `ns`, or else the first label of a host name of three labels or more, or else the server's default.
package struct DatabaseURL: Hashable, Sendable {
    /// A name or a numeric address, without brackets.
    package let host: String
    package let port: UInt16
    package let usesTLS: Bool
    /// Empty for the server's default.
    package var database: String
    /// The place in the database that the URL names.
    package var path: Path

    private let isIPv6: Bool

    package init(_ text: String) throws(DatabaseURLError) {
        let parts = try URLParts(text)
        (host, isIPv6) = (parts.host, parts.isIPv6)
        (port, usesTLS) = parts.port.map { ($0, parts.isSecureScheme) } ?? (443, true)
        do throws(PathError) {
            path = try Path(percentEncoded: Array(parts.path))
        } catch {
            throw DatabaseURLError("the path of the URL is invalid: \(error)")
        }
        let name = QueryString(parts.query).first("ns").map { String(decoding: $0, as: UTF8.self) } ?? ""
        database = name.isEmpty ? DatabaseURL.database(ofHost: parts.host) : name
    }

    private static func database(ofHost host: String) -> String {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let isAddress = labels.allSatisfy {
            $0.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        return isAddress || labels.count < 3 || host.contains(":") ? "" : labels[0].lowercased()
    }

    /// Whether both lead to the same listener, as far as can be told without asking.
    package func isSameServer(as other: DatabaseURL) -> Bool {
        func known(_ host: String) -> String {
            let isLoopback = host.lowercased() == "localhost" || host == "::1" || host.hasPrefix("127.")
            return isLoopback ? "localhost" : host.lowercased()
        }
        return port == other.port && usesTLS == other.usesTLS && known(host) == known(other.host)
    }

    /// Host and port as a `Host` header field has them.
    package var authority: String { (isIPv6 ? "[\(host)]" : host) + (usesTLS && port == 443 ? "" : ":\(port)") }

    /// The request to the server (Protocol.md 2.1). `lastSession` is the session that a new connection replaces.
    func target(lastSession: [UInt8]?) -> String {
        var target = "/.ws?v=5"
        if !database.isEmpty { target += "&ns=" + DatabaseURL.encoded(Array(database.utf8)) }
        if let lastSession { target += "&ls=" + DatabaseURL.encoded(lastSession) }
        return target
    }

    /// Another place of the same server, over HTTP.
    ///
    /// - parameter target: path and query, encoded.
    package func address(target: String) -> HTTPAddress {
        HTTPAddress(host: host, port: port, usesTLS: usesTLS, authority: authority, target: target)
    }

    /// Percent-encodes all but letters, digits, `-`, `_` and `.`.
    package static func encoded(_ bytes: [UInt8]) -> String {
        var text = ""
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                text += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }
}

extension DatabaseURL: CustomStringConvertible {
    /// Scheme, host and port.
    package var description: String { (usesTLS ? "wss://" : "ws://") + authority }
}
