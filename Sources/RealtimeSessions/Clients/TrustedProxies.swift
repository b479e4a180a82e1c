import HearthEventLoop

/// The proxies in front of a server that are believed when they say for whom they ask (`X-Forwarded-For`).
package struct TrustedProxies: Sendable {
    private let networks: NetworkList
    /// As it was given.
    package var text: String { networks.text }

    package var isEmpty: Bool { networks.isEmpty }

    /// No proxy is trusted.
    package init() { networks = NetworkList() }

    /// Reads addresses and networks between commas. Nil if one is invalid.
    package init?(_ text: String) {
        guard let networks = NetworkList(text) else { return nil }
        self.networks = networks
    }

    func contains(_ address: SocketAddress) -> Bool { networks.contains(address) }

    /// Who asks: the peer, or, if that is believed, whom it names, and so on along the way. An address before one that
    /// is not believed could be anything.
    ///
    /// - parameter forwardedFor: the list of `X-Forwarded-For`, each proxy's peer after those that it was told of.
    func client(_ peer: SocketAddress?, forwardedFor list: [UInt8]?) -> SocketAddress? {
        guard var client = peer, !networks.isEmpty, contains(client) else { return peer }
        for entry in (list ?? []).split(separator: UInt8(ascii: ",")).reversed() {
            let text = String(decoding: entry.filter { $0 > 0x20 }, as: UTF8.self)
            guard let next = SocketAddress(numeric: text, port: 0) ?? SocketAddress(hostAndPort: text) else { break }
            client = next
            if !contains(client) { break }
        }
        return client
    }
}
