import HearthEventLoop
import Glibc
import HearthTestSupport
import Testing

/// A blocking socket of the test's own, for the other end of a stream. Reads and writes give up after a time.
final class TestSocket: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        LoopbackSocket.giveUp(descriptor)
    }

    /// Makes a socket that is not connected.
    convenience init() throws {
        self.init(try LoopbackSocket.make())
    }

    /// Connects over IPv4 loopback.
    convenience init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        self.init(try LoopbackSocket.make(receiveBuffer: receiveBuffer))
        try connect(port: port)
    }

    func connect(port: UInt16) throws {
        let error = LoopbackSocket.connect(descriptor, to: port)
        try #require(error == 0, "connect to port \(port): \(error)")
    }

    deinit { close(descriptor) }

    /// Two connected sockets, the first non-blocking for a loop to adopt. With `SOCK_SEQPACKET` every write of the loop
    /// arrives as one read.
    static func pair(_ kind: __socket_type) throws -> (loopEnd: Int32, test: TestSocket) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(kind.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        _ = fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_NONBLOCK)
        return (ends[0], TestSocket(ends[1]))
    }

    func send(_ bytes: [UInt8]) throws {
        let error = sendToError(bytes)
        try #require(error == nil, "send: \(error ?? 0)")
    }

    /// Sends `bytes`, or as many as the connection takes before an error. Returns that error.
    func sendToError(_ bytes: [UInt8]) -> Int32? {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return errno }
            sent += count
        }
        return nil
    }

    func send(_ text: String) throws { try send([UInt8](text.utf8)) }

    /// What one read gives; empty at the peer's end.
    func receiveOnce(_ max: Int = 65_536) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: max)
        let count = recv(descriptor, &buffer, max, 0)
        try #require(count >= 0, "receive: \(errno)")
        return [UInt8](buffer[..<count])
    }

    func receive(exactly count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let part = try receiveOnce(min(count - bytes.count, 1 << 20))
            try #require(!part.isEmpty, "the stream ended after \(bytes.count) of \(count) bytes")
            bytes += part
        }
        return bytes
    }

    func receiveText(_ count: Int) throws -> String { String(decoding: try receive(exactly: count), as: UTF8.self) }

    func receiveToEnd() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let part = try receiveOnce()
            if part.isEmpty { return bytes }
            bytes += part
        }
    }

    /// The error that a read meets, 0 for a proper end; waits for either and drops what comes before.
    func errorAtEnd() -> Int32 {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { return count == 0 ? 0 : errno }
        }
    }

    func endOutput() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes the socket's closing a reset.
    func resetOnClose() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    }
}
