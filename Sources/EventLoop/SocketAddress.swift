import CHearthLinux
package import Glibc

/// An IPv4 or IPv6 address with a port.
package struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    private typealias Words = (UInt32, UInt32, UInt32, UInt32)

    // The address in network order, in four words; IPv4 uses the first.
    private let word0, word1, word2, word3: UInt32
    private let scope: UInt32
    package let port: UInt16
    package let isIPv6: Bool

    /// The IPv4 address 127.0.0.1.
    package static func loopback(port: UInt16) -> SocketAddress {
        SocketAddress(words: (UInt32(0x7F00_0001).bigEndian, 0, 0, 0), scope: 0, port: port, isIPv6: false)
    }

    private init(words: Words, scope: UInt32, port: UInt16, isIPv6: Bool) {
        (word0, word1, word2, word3) = words
        self.scope = scope
        self.port = port
        self.isIPv6 = isIPv6
    }

    /// Reads a numeric address: `127.0.0.1` or `::1`, without brackets.
    package init?(numeric host: String, port: UInt16) {
        var words: Words = (0, 0, 0, 0)
        if inet_pton(AF_INET, host, &words) == 1 {
            self.init(words: words, scope: 0, port: port, isIPv6: false)
        } else if inet_pton(AF_INET6, host, &words) == 1 {
            self.init(words: words, scope: 0, port: port, isIPv6: true)
        } else {
            return nil
        }
    }

    /// Reads the address that the system wrote; nil for another family.
    package init?(_ address: UnsafePointer<sockaddr>) {
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let native = raw.loadUnaligned(as: sockaddr_in.self)
            self.init(
                words: (native.sin_addr.s_addr, 0, 0, 0), scope: 0, port: UInt16(bigEndian: native.sin_port),
                isIPv6: false)
        case AF_INET6:
            let native = raw.loadUnaligned(as: sockaddr_in6.self)
            self.init(
                words: native.sin6_addr.__in6_u.__u6_addr32, scope: native.sin6_scope_id,
                port: UInt16(bigEndian: native.sin6_port), isIPv6: true)
        default:
            return nil
        }
    }

    /// The system's address family.
    var family: Int32 { isIPv6 ? AF_INET6 : AF_INET }

    /// Calls `body` with the address in the system's form and its length.
    func withSystemAddress<Result>(_ body: (UnsafeRawPointer, UInt32) -> Result) -> Result {
        if isIPv6 {
            var native = sockaddr_in6()
            native.sin6_family = sa_family_t(AF_INET6)
            native.sin6_port = port.bigEndian
            native.sin6_addr.__in6_u.__u6_addr32 = (word0, word1, word2, word3)
            native.sin6_scope_id = scope
            return withUnsafeBytes(of: &native) { body($0.baseAddress!, UInt32($0.count)) }
        }
        var native = sockaddr_in()
        native.sin_family = sa_family_t(AF_INET)
        native.sin_port = port.bigEndian
        native.sin_addr.s_addr = word0
        return withUnsafeBytes(of: &native) { body($0.baseAddress!, UInt32($0.count)) }
    }

    /// Calls `fill` with room for any address and its length, and reads the result.
    static func filled(
        by fill: (UnsafeMutableRawPointer, UnsafeMutablePointer<UInt32>) -> Int32
    ) -> (result: Int32, address: SocketAddress?) {
        var storage = sockaddr_storage()
        var length = UInt32(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            let result = fill(storage, &length)
            let address = storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { SocketAddress($0) }
            return (result, result < 0 ? nil : address)
        }
    }

    /// The address without the port, in its usual text form.
    package var host: String {
        var words = (word0, word1, word2, word3)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            let isWritten = inet_ntop(family, &words, text.baseAddress!, socklen_t(text.count)) != nil
            return isWritten ? String(cString: text.baseAddress!) : "?"
        }
    }

    /// The address in network order: 4 or 16 bytes.
    package var addressBytes: [UInt8] {
        (isIPv6 ? [word0, word1, word2, word3] : [word0]).flatMap { word in withUnsafeBytes(of: word) { Array($0) } }
    }

    /// Whether only programs of this machine can reach the address.
    package var isLoopback: Bool {
        if isIPv6 { return (word0, word1, word2, word3) == (0, 0, 0, UInt32(1).bigEndian) }
        return UInt32(bigEndian: word0) >> 24 == 127
    }

    /// The IPv4 address that is written as an IPv6 address (`::ffff:192.0.2.1`), with the same port; else the address.
    package var unmapped: SocketAddress {
        guard isIPv6, word0 == 0, word1 == 0, word2 == UInt32(0xFFFF).bigEndian else { return self }
        return SocketAddress(words: (word3, 0, 0, 0), scope: 0, port: port, isIPv6: false)
    }

    /// The address range of one client: an IPv4 address, or the network of an IPv6 address (64 bits: RFC 6177), without
    /// a port. An IPv4 address that is written as an IPv6 address (`::ffff:192.0.2.1`) is that IPv4 address.
    package var network: SocketAddress {
        if !isIPv6 { return SocketAddress(words: (word0, 0, 0, 0), scope: 0, port: 0, isIPv6: false) }
        let unmapped = unmapped
        if !unmapped.isIPv6 { return unmapped.network }
        return SocketAddress(words: (word0, word1, 0, 0), scope: 0, port: 0, isIPv6: true)
    }

    /// The text of `network`.
    package var clientNetwork: String { network.host }

    /// `127.0.0.1:80` or `[::1]:80`.
    package var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
