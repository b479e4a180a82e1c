import Glibc

/// A host name without an address.
package struct NameNotFound: Error, Equatable, Sendable, CustomStringConvertible {
    /// The error of the system's resolver.
    package let text: String

    package var description: String { text }
}

extension SocketAddress {
    /// Looks up a name or reads a numeric address, in the order in which the system would try them. Waits for the
    /// network: not for a loop's thread.
    package static func resolve(host: String, port: UInt16) throws(NameNotFound) -> [SocketAddress] {
        if let address = SocketAddress(numeric: host, port: port) { return [address] }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &found)
        guard code == 0 else { throw NameNotFound(text: "\(host): \(String(cString: gai_strerror(code)))") }
        defer { freeaddrinfo(found) }
        var addresses: [SocketAddress] = []
        var next = found
        while let entry = next?.pointee {
            if let address = entry.ai_addr, let read = SocketAddress(address) { addresses.append(read) }
            next = entry.ai_next
        }
        if addresses.isEmpty { throw NameNotFound(text: "\(host): no internet address") }
        return addresses
    }
}
