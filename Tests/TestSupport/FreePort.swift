import Glibc
import HearthSystem
import Synchronization

/// Loopback ports without listeners. They are below those that the system gives away by itself (32768 and above by
/// default), so that no listener of another test gets one of them before it is used.
package enum FreePort {
    private static let next = Mutex<UInt16>(0)

    /// Those of this process alone: another one that runs tests at the same time could take a port that is to be used
    /// soon, or again.
    private static let range: Range<UInt16> = {
        for block in (0..<22 as Range<UInt16>).shuffled() where claim("hearth-test-ports-\(block)") {
            return 10_000 + 1000 * block..<11_000 + 1000 * block
        }
        return 10_000..<32_000
    }()

    /// Binds an abstract name until the end of the process. False if another process has it.
    private static func claim(_ name: String) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path: [UInt8] = [0] + Array(name.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let count = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, count) }
        }
        if result != 0 { close(descriptor) }
        return result == 0
    }

    /// So many ports, each of which is given away once in this process, unless it needs very many.
    package static func several(_ count: Int) throws -> [UInt16] {
        var ports: [UInt16] = []
        while ports.count < count {
            let port = next.withLock { next in
                let port = range.contains(next) ? next : range.lowerBound
                next = port + 1
                return port
            }
            if try isFree(port) { ports.append(port) }
        }
        return ports
    }

    private static func isFree(_ port: UInt16) throws -> Bool {
        let descriptor = try LoopbackSocket.make()
        defer { close(descriptor) }
        let error = LoopbackSocket.bind(descriptor, to: port)
        guard error == 0 || error == EADDRINUSE else { throw SystemError("bind", code: error) }
        return error == 0
    }
}
