/// Addresses and networks, as an operator lists them.
package struct NetworkList: Hashable, Sendable {
    /// Addresses of which so many leading bits are these.
    private struct Network: Hashable, Sendable {
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

    package func contains(_ address: SocketAddress) -> Bool {
        if networks.isEmpty { return false }
        let bytes = address.addressBytes
        return networks.contains { $0.contains(bytes) }
    }

    /// Those that are not of the public internet (IANA's registries of special-purpose addresses).
    private static let special =
        NetworkList(
            """
            0.0.0.0/8,10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,169.254.0.0/16,172.16.0.0/12,192.0.0.0/24,192.0.2.0/24,\
            192.88.99.0/24,192.168.0.0/16,198.18.0.0/15,198.51.100.0/24,203.0.113.0/24,224.0.0.0/3,\
            2001::/23,2001:db8::/32,2002::/16,3fff::/20
            """) ?? NetworkList()
    private static let globalUnicast = NetworkList("2000::/3") ?? NetworkList()

    /// Whether an address is one of the public internet. Those that contain an IPv4 address, mapped or translated, are
    /// not.
    package static func isPublic(_ address: SocketAddress) -> Bool {
        !special.contains(address) && (!address.isIPv6 || globalUnicast.contains(address))
    }
}
