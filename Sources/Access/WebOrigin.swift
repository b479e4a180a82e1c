/// The value of an `Origin` header (RFC 6454 section 6.1), or the origin of a URL: `scheme://host[:port]`. Names are in
/// lower case.
package struct WebOrigin: Equatable, Sendable {
    let scheme: String
    package let host: HostName
    /// Nil for the usual port of the scheme.
    let port: UInt16?

    /// Nil for `null`, and for everything else that names no host.
    package init?(_ text: some Sequence<UInt8>) {
        let text = String(decoding: Array(text), as: UTF8.self)
        guard let colon = text.firstRange(of: "://") else { return nil }
        let authority = text[colon.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !authority.contains("@"), let (host, port) = HostName.split(authority.utf8) else { return nil }
        scheme = text[..<colon.lowerBound].lowercased()
        (self.host, self.port) = (host, port)
    }
}

/// The name in a `Host` header or an origin, without the port and in lower case.
package struct HostName: Equatable, Sendable {
    let text: String

    /// Reads `name`, `name:port`, `[v6]` or `[v6]:port`; nil for anything else.
    package static func split(_ bytes: some Collection<UInt8>) -> (HostName, port: UInt16?)? {
        let text = String(decoding: Array(bytes), as: UTF8.self).lowercased()
        let name: Substring
        var rest: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            name = text[text.index(after: text.startIndex)..<end]
            rest = text[text.index(after: end)...]
        } else {
            name = text.prefix { $0 != ":" }
            rest = text[name.endIndex...]
        }
        guard !name.isEmpty else { return nil }
        // A name may end with the dot of the root.
        let host = HostName(text: String(name.hasSuffix(".") ? name.dropLast() : name))
        if rest.isEmpty { return (host, nil) }
        rest.removeFirst()
        guard let port = UInt16(rest) else { return nil }
        return (host, port)
    }

    /// An address or a name that every system resolves to itself (RFC 6761 section 6.3).
    package var isLoopback: Bool {
        if text == "localhost" || text.hasSuffix(".localhost") || text == "::1" { return true }
        let numbers = text.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
    }

    /// The name by which the Android emulator calls the machine it runs on.
    var isAndroidHost: Bool { text == "10.0.2.2" }
}

/// Names of hosts as an option gives them: `name`, or `*.name` for all below it.
struct HostPattern: Equatable, Sendable {
    private let name: String
    private let isWildcard: Bool

    init?(_ text: some StringProtocol) {
        isWildcard = text.hasPrefix("*.")
        name = String(isWildcard ? text.dropFirst(2) : text[...]).lowercased()
        let isName = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "-._:".utf8.contains(byte)
            }
        }
        guard !name.isEmpty, isName, !name.hasPrefix("."), !name.hasSuffix(".") else { return nil }
    }

    func matches(_ host: HostName) -> Bool {
        isWildcard ? host.text.hasSuffix(".\(name)") : host.text == name
    }
}
