extension SocketAddress {
    /// Reads `HOST:PORT`, `[IPV6]:PORT`, `localhost:PORT` or `:PORT` (all IPv4 addresses). Names other than `localhost` are not looked up.
    package init?(hostAndPort text: String) {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
            let port = UInt16(text[text.index(after: colon)...])
        else { return nil }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        switch host {
        case "": self.init(numeric: "0.0.0.0", port: port)
        case "localhost": self.init(numeric: "127.0.0.1", port: port)
        default: self.init(numeric: host, port: port)
        }
    }

    /// Whether only programs of this machine can reach the address.
    package var isLoopback: Bool { isIPv6 ? host == "::1" : host.hasPrefix("127.") }
}
