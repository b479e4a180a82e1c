extension SocketAddress {
    /// Reads `HOST:PORT`, `[IPV6]:PORT`, `localhost:PORT` or `:PORT` (all IPv4 addresses). Names other than `localhost`
    /// are not looked up.
    package init?(hostAndPort text: String) {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        let digits = text[text.index(after: colon)...]
        let isNumber = digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, let port = UInt16(digits) else { return nil }
        let host = String(text[..<colon])
        switch host {
        case "": self.init(numeric: "0.0.0.0", port: port)
        case "localhost": self.init(numeric: "127.0.0.1", port: port)
        case _ where host.hasPrefix("[") && host.hasSuffix("]"):
            self.init(numeric: String(host.dropFirst().dropLast()), port: port)
            if !isIPv6 { return nil }
        default:
            self.init(numeric: host, port: port)
            // Without brackets the end of the address would be ambiguous.
            if isIPv6 { return nil }
        }
    }

    /// It means all addresses of the machine.
    package var isUnspecified: Bool { host == (isIPv6 ? "::" : "0.0.0.0") }
}
