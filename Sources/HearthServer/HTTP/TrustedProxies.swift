import HearthEventLoop

/// The proxies in front of a server that are believed when they say for whom they ask (`X-Forwarded-For`).
package struct TrustedProxies: Sendable {
    /// Addresses of which so many leading bits are these.
    private struct Network: Sendable {
        let bytes: [UInt8]
        let bitCount: Int

        func contains(_ address: [UInt8]) -> Bool {
            guard address.count == bytes.count else { return false }
            return bytes.indices.allSatisfy { index in
                let leading = min(max(bitCount - index * 8, 0), 8)
                let mask = UInt8(truncatingIfNeeded: 0xFF00 >> leading)
                return (address[index] ^ bytes[index]) & mask == 0
            }
        }
    }

    private let networks: [Network]
    /// As it was given.
    package let text: String

    package var isEmpty: Bool { networks.isEmpty }

    /// Nobody is believed.
    package init() { (networks, text) = ([], "") }

    /// Reads addresses and networks between commas: `127.0.0.1, 10.0.0.0/8, fd00::/8`. Nil if one is invalid.
    package init?(_ text: String) {
        var networks: [Network] = []
        for entry in text.split(separator: ",") {
            let parts = entry.filter { $0 != " " }.split(separator: "/", omittingEmptySubsequences: false)
            guard let address = SocketAddress(numeric: String(parts[0]), port: 0) else { return nil }
            let bytes = address.addressBytes
            let bitCount = parts.count == 1 ? bytes.count * 8 : Int(parts[1])
            guard parts.count <= 2, let bitCount, 0...bytes.count * 8 ~= bitCount else { return nil }
            networks.append(Network(bytes: bytes, bitCount: bitCount))
        }
        (self.networks, self.text) = (networks, text)
    }

    func contains(_ address: SocketAddress) -> Bool {
        if networks.isEmpty { return false }
        let bytes = address.addressBytes
        return networks.contains { $0.contains(bytes) }
    }

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
