import Glibc

/// Ports of 127.0.0.1 without a listener.
enum FreePorts {
    /// Below those that Linux gives to connections, so that none gets one of them before a process listens there.
    private static let range: ClosedRange<UInt16> = 10_000...31_999
    private static let attemptsMax = 1_000

    /// So many different ports.
    static func several(_ count: Int) throws(BenchError) -> [UInt16] {
        var ports: [UInt16] = []
        for _ in 0..<attemptsMax where ports.count < count {
            let port = UInt16.random(in: range)
            if !ports.contains(port), try isFree(port) { ports.append(port) }
        }
        guard ports.count == count else { throw BenchError("there are no \(count) free ports in \(range)") }
        return ports
    }

    private static func isFree(_ port: UInt16) throws(BenchError) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw BenchError("make a socket", code: -Int(errno)) }
        defer { close(descriptor) }
        return IPv4Address(port: port).withSystemAddress {
            // Safe because: the address is a sockaddr of the size that is given with it.
            bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self), $1) == 0
        }
    }
}
