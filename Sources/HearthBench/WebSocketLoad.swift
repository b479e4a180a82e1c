import CHearthLinux
import Glibc

/// Many WebSocket connections to one target, driven by one thread over bare epoll: one receive per ready connection and
/// turn, one send for all its output.
final class WebSocketLoad {
    private static let receiveMax = 256 * 1024
    private static let eventsMax = 1024
    private static let readable = UInt32(LINUX_READABLE)
    private static let writable = UInt32(LINUX_WRITABLE)
    /// Without a byte from any connection for so long, a run has failed.
    private static let silenceMilliseconds: Int32 = 60_000

    let target: Target
    private let epoll: Int32
    private var descriptors: [Int32] = []
    /// Bytes that the kernel did not take yet, by connection. Empty on a healthy run.
    private var unsent: [Int: [UInt8]] = [:]
    private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: receiveMax, alignment: 64)
    private let events = UnsafeMutablePointer<linux_event>.allocate(capacity: eventsMax)

    init(_ target: Target) throws(BenchError) {
        self.target = target
        epoll = linux_epoll_create()
        guard epoll >= 0 else { throw BenchError("make an epoll", code: Int(epoll)) }
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
        close(epoll)
        input.deallocate()
        events.deallocate()
    }

    /// Connections; they are named by their index.
    var count: Int { descriptors.count }

    /// Connections that are opened at the same time.
    private static let openingMax = 64

    /// Opens further connections.
    ///
    /// - parameters:
    ///   - upgrades: to WebSocket; nil if the target speaks it.
    ///   - other: another target that they lead to; nil for that of the load.
    func open(_ count: Int, upgrades: Bool? = nil, at other: Target? = nil) throws(BenchError) {
        let end = descriptors.count + count
        while descriptors.count < end {
            let first = descriptors.count
            descriptors += try WebSocketOpening.open(
                (other ?? target).address, indices: first..<min(first + Self.openingMax, end),
                upgrades: upgrades ?? (target.kind != .redis))
            for index in first..<descriptors.count {
                let result = linux_epoll_add(epoll, descriptors[index], Self.readable, UInt32(index), 0)
                guard result >= 0 else { throw BenchError("watch a socket", code: Int(result)) }
            }
        }
    }

    /// Sends the bytes, or keeps those that the kernel does not take.
    func send(_ bytes: UnsafeRawBufferPointer, on connection: Int) throws(BenchError) {
        if unsent[connection] != nil {
            unsent[connection]?.append(contentsOf: bytes)
            return
        }
        let sent = try sendNow(bytes, on: connection)
        if sent < bytes.count {
            unsent[connection] = Array(bytes[sent...])
            watch(connection, Self.readable | Self.writable)
        }
    }

    func send(_ bytes: [UInt8], on connection: Int) throws(BenchError) {
        try bytes.span.withUnsafeBytes { (bytes) throws(BenchError) in try send(bytes, on: connection) }
    }

    /// Waits for bytes, at most until something must have come, and hands them on: once for each ready connection.
    @inline(__always)
    func turn(_ received: (Int, UnsafeRawBufferPointer) throws(BenchError) -> Void) throws(BenchError) {
        if try turn(timeoutMilliseconds: Self.silenceMilliseconds, received) == 0 {
            throw BenchError("\(target.name) has been silent for a minute")
        }
    }

    /// As `turn(_:)`, but silence is not a failure. Answers how many connections were ready.
    @inline(__always)
    func turn(
        timeoutMilliseconds: Int32, _ received: (Int, UnsafeRawBufferPointer) throws(BenchError) -> Void
    ) throws(BenchError) -> Int {
        let count = linux_epoll_wait(epoll, events, Int32(Self.eventsMax), timeoutMilliseconds)
        guard count >= 0 else { throw BenchError("wait for sockets", code: Int(count)) }
        for place in 0..<Int(count) {
            let event = events[place]
            let connection = Int(event.slot)
            if event.ready & Self.writable != 0 { try sendUnsent(connection) }
            guard event.ready & ~Self.writable != 0 else { continue }
            let size = linux_receive(descriptors[connection], input.baseAddress, input.count)
            if size == -Int(EAGAIN) { continue }
            guard size > 0 else { throw BenchError("\(target.name) closed connection \(connection)") }
            try received(connection, UnsafeRawBufferPointer(rebasing: input[..<size]))
        }
        return Int(count)
    }

    private func sendNow(_ bytes: UnsafeRawBufferPointer, on connection: Int) throws(BenchError) -> Int {
        let sent = linux_send(descriptors[connection], bytes.baseAddress, bytes.count)
        if sent == -Int(EAGAIN) { return 0 }
        guard sent >= 0 else { throw BenchError("send on connection \(connection)", code: sent) }
        return sent
    }

    private func sendUnsent(_ connection: Int) throws(BenchError) {
        guard let bytes = unsent.removeValue(forKey: connection) else { return }
        watch(connection, Self.readable)
        try send(bytes, on: connection)
    }

    private func watch(_ connection: Int, _ interest: UInt32) {
        _ = linux_epoll_modify(epoll, descriptors[connection], interest, UInt32(connection), 0)
    }
}
