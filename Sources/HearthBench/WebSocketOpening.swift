import CHearthLinux
import Glibc

/// Opens WebSocket connections and waits for the target's first message on each.
package enum WebSocketOpening {
    /// From one source address, so many connections to one port; Linux has 28,232 ports for it unless told otherwise.
    private static let connectionsPerSource = 20_000
    /// Linux's `IP_BIND_ADDRESS_NO_PORT`: the port is chosen when the connection is made, so that ports can be shared.
    private static let bindAddressNoPort: Int32 = 24
    private static let timeoutMilliseconds: Int32 = 30_000

    private static let request = Array(
        """
        GET /.ws?v=5 HTTP/1.1\r
        Host: 127.0.0.1\r
        Upgrade: websocket\r
        Connection: Upgrade\r
        Sec-WebSocket-Version: 13\r
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
        \r\n
        """.utf8)

    /// The descriptors of connections by index, all opened at the same time, upgraded and with the hello read.
    ///
    /// - parameter upgrades: false for connections that stay as they are.
    static func open(
        _ address: IPv4Address, indices: Range<Int>, upgrades: Bool = true
    ) throws(BenchError) -> [Int32] {
        var descriptors: [Int32] = []
        do throws(BenchError) {
            for index in indices {
                let descriptor = linux_socket(AF_INET)
                guard descriptor >= 0 else { throw BenchError("make a socket", code: Int(descriptor)) }
                descriptors.append(descriptor)
                try connect(descriptor, address, index)
            }
            for descriptor in descriptors { try waitUntilConnected(descriptor) }
            if !upgrades { return descriptors }
            for descriptor in descriptors { try askForUpgrade(descriptor) }
            for descriptor in descriptors { try takeUpgrade(descriptor) }
            return descriptors
        } catch {
            for descriptor in descriptors { close(descriptor) }
            throw error
        }
    }

    private static func connect(_ descriptor: Int32, _ address: IPv4Address, _ index: Int) throws(BenchError) {
        _ = linux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        // Nothing is lost by it when the connection is closed, and its port is free at once.
        _ = linux_reset_on_close(descriptor)
        if index >= connectionsPerSource {
            _ = linux_set_option(descriptor, Int32(IPPROTO_IP), bindAddressNoPort, 1)
            let source = IPv4Address(loopback: UInt8(1 + index / connectionsPerSource), port: 0)
            let result = source.withSystemAddress { linux_bind(descriptor, $0, $1) }
            guard result >= 0 else { throw BenchError("bind a source address", code: Int(result)) }
        }
        let result = address.withSystemAddress { linux_connect(descriptor, $0, $1) }
        guard result >= 0 || result == -EINPROGRESS else { throw BenchError("connect", code: Int(result)) }
    }

    private static func waitUntilConnected(_ descriptor: Int32) throws(BenchError) {
        try wait(descriptor, POLLOUT)
        let failure = linux_get_option(descriptor, SOL_SOCKET, SO_ERROR)
        guard failure == 0 else { throw BenchError("connect", code: -Int(failure)) }
    }

    private static func askForUpgrade(_ descriptor: Int32) throws(BenchError) {
        guard linux_send(descriptor, request, request.count) == request.count else {
            throw BenchError("the request for an upgrade was not taken")
        }
    }

    private static func takeUpgrade(_ descriptor: Int32) throws(BenchError) {
        var answer: [UInt8] = []
        while true {
            try wait(descriptor, POLLIN)
            let count = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
                let count = linux_receive(descriptor, buffer.baseAddress, buffer.count)
                if count > 0 { answer.append(contentsOf: buffer[..<count]) }
                return count
            }
            guard count > 0 else { throw BenchError("the connection was closed instead of upgraded") }
            if try isComplete(answer) { return }
        }
    }

    /// Whether the answer and the first frame after it are there.
    package static func isComplete(_ answer: [UInt8]) throws(BenchError) -> Bool {
        guard let end = answer.indices.first(where: { answer[$0...].starts(with: "\r\n\r\n".utf8) }) else {
            return false
        }
        guard answer.starts(with: "HTTP/1.1 101 ".utf8) else { throw BenchError("the upgrade was refused") }
        var scanner = FrameScanner()
        var frames = 0
        try answer.span.withUnsafeBytes { (bytes) throws(BenchError) in
            try scanner.scan(UnsafeRawBufferPointer(rebasing: bytes[(end + 4)...])) { _ in frames += 1 }
        }
        return frames > 0
    }

    private static func wait(_ descriptor: Int32, _ events: Int32) throws(BenchError) {
        var waiting = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        guard poll(&waiting, 1, timeoutMilliseconds) > 0 else { throw BenchError("the target does not answer") }
    }
}
