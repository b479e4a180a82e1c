import Glibc

/// Reports the state of the process to systemd, or to another supervisor that set `NOTIFY_SOCKET` (sd_notify(3)).
///
/// Without a socket, and if sending fails, nothing happens.
package struct ServiceManager: Sendable {
    /// As in `NOTIFY_SOCKET`: a path, or a name that begins with `@`.
    private let socketName: [UInt8]

    /// - parameter socketName: nil or empty for no receiver.
    package init(socketName: String?) { self.socketName = Array((socketName ?? "").utf8) }

    /// As the environment says it.
    package static var inherited: ServiceManager {
        ServiceManager(socketName: getenv("NOTIFY_SOCKET").map { String(cString: $0) })
    }

    package enum State: Sendable {
        /// Requests are answered; a line for people.
        case ready(String)
        /// The configuration is being read again; `ready` follows.
        case reloading
        /// `stopping` follows after this time.
        case draining(Duration)
        case stopping
    }

    package func notify(_ state: State) {
        switch state {
        case .ready(let status): send("READY=1\nSTATUS=\(status)\n")
        case .reloading:
            send("RELOADING=1\nMONOTONIC_USEC=\(MonotonicTime.current.nanoseconds / 1000)\n")
        case .draining(let time):
            // The manager's own limit for stopping does not know of the time.
            let microseconds = (time.components.seconds + 60) * 1_000_000
            send("STOPPING=1\nSTATUS=clients are being sent elsewhere\nEXTEND_TIMEOUT_USEC=\(microseconds)\n")
        case .stopping: send("STOPPING=1\nSTATUS=writing what was accepted\n")
        }
    }

    private func send(_ text: String) {
        var address = sockaddr_un()
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard !socketName.isEmpty, socketName.count < capacity else { return }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            path.copyBytes(from: socketName)
            // An abstract name begins with a zero.
            if socketName[0] == UInt8(ascii: "@") { path[0] = 0 }
        }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // Neither kind of name has a zero at its end.
        let count = socklen_t(MemoryLayout<sockaddr_un>.size - capacity + socketName.count)
        let bytes = Array(text.utf8)
        withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, count)
            }
        }
    }
}
