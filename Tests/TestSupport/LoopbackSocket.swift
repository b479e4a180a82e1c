import Glibc
import Testing

/// Blocking TCP sockets of tests on the IPv4 loopback. The caller closes their descriptors.
package enum LoopbackSocket {
    /// A socket that is not connected, and whose reads and writes give up after a time.
    ///
    /// - parameter receiveBuffer: bytes that the kernel takes for a reader that is slow; nil for its usual.
    package static func make(receiveBuffer: Int32? = nil) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0, "socket: \(errno)")
        giveUp(descriptor)
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        return descriptor
    }

    /// Limits the time of reads and writes.
    package static func giveUp(_ descriptor: Int32) {
        var limit = timeval(tv_sec: Int(Patience.limit.components.seconds), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Connects; returns the error number, or zero.
    package static func connect(_ descriptor: Int32, to port: UInt16) -> Int32 {
        withAddress(of: port) { Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno }
    }

    /// Gives it an address; returns the error number, or zero.
    ///
    /// - parameter port: zero for a free one.
    /// - parameter host: the last number of the address, 127.0.0.x.
    package static func bind(_ descriptor: Int32, to port: UInt16 = 0, host: UInt8 = 1) -> Int32 {
        withAddress(of: port, host: host) { Glibc.bind(descriptor, $0, $1) == 0 ? 0 : errno }
    }

    /// A listener on a free port.
    package static func listen(backlog: Int32) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0, "socket: \(errno)")
        let error = bind(descriptor)
        try #require(error == 0, "bind: \(error)")
        try #require(Glibc.listen(descriptor, backlog) == 0, "listen: \(errno)")
        return (descriptor, try #require(port(of: descriptor)))
    }

    /// The port of a socket that has an IPv4 address.
    package static func port(of descriptor: Int32) -> UInt16? {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let found = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard found == 0, Int32(address.sin_family) == AF_INET else { return nil }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func withAddress<Result>(
        of port: UInt16, host: UInt8 = 1, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (UInt32(0x7F00_0000) | UInt32(host)).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
