/// The parts of an `https:` address. Plain `http:` is accepted only for this machine, unless it is allowed: elsewhere
/// the server would not be authenticated.
package struct FetchAddress: Hashable, Sendable {
    package let isSecure: Bool
    /// Without brackets.
    package let host: String
    package let port: UInt16
    /// Host and port as they were written, for the request's `Host`.
    package let authority: String
    /// Path and query.
    package let target: String

    /// Nil if it is not such an address: another scheme, user names, a bad port, control bytes or white space.
    package init?(_ url: String, allowsPlain: Bool = false) {
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        guard let separator = url.firstRange(of: "://") else { return nil }
        switch url[..<separator.lowerBound].lowercased() {
        case "https": isSecure = true
        case "http": isSecure = false
        default: return nil
        }
        let rest = url[separator.upperBound...].prefix { $0 != "#" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let target = rest[authority.endIndex...]
        guard !authority.isEmpty, !authority.contains("@"),
            let (host, port) = Self.split(authority, defaultPort: isSecure ? 443 : 80)
        else { return nil }
        let isHere = host == "localhost" || SocketAddress(numeric: host, port: port)?.isLoopback == true
        guard isSecure || isHere || allowsPlain else { return nil }
        self.host = host
        self.port = port
        self.authority = String(authority)
        self.target = target.hasPrefix("/") ? String(target) : "/" + target
    }

    private static func split(_ authority: Substring, defaultPort: UInt16) -> (host: String, port: UInt16)? {
        var host = authority
        var port = Substring()
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[authority.index(after: authority.startIndex)..<end]
            port = authority[authority.index(after: end)...]
            guard port.isEmpty || port.hasPrefix(":"), SocketAddress(numeric: String(host), port: 0)?.isIPv6 == true
            else {
                return nil
            }
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            port = authority[colon...]
        }
        guard !host.isEmpty else { return nil }
        if port.isEmpty { return (String(host), defaultPort) }
        guard port.utf8.dropFirst().allSatisfy({ $0 &- UInt8(ascii: "0") <= 9 }), let number = UInt16(port.dropFirst()),
            number > 0
        else { return nil }
        return (String(host), number)
    }
}
