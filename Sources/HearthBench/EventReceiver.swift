import Glibc
import HearthSystem
import Synchronization

/// Takes the events of triggers over HTTP, on a thread of its own, and counts them.
final class EventReceiver: Sendable {
    let port: UInt16
    private let listener: Int32
    private let state = State()
    private let ended = Semaphore()

    private final class State: Sendable {
        let count = Atomic(0)
        let isStopping = Atomic(false)
    }

    private static let answer = Array("HTTP/1.1 204 No Content\r\n\r\n".utf8)
    private static let bytesPerRead = 64 << 10

    /// Listens on 127.0.0.1.
    init() throws(BenchError) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        self.listener = listener
        guard listener >= 0 else { throw BenchError("make a socket", code: Int(-errno)) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // Safe because: the address is one of IPv4, and has the length that is named.
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 128) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isBound else {
            let code = errno
            close(listener)
            throw BenchError("listen on 127.0.0.1", code: Int(-code))
        }
        do throws(SystemError) {
            _ = try NamedThread(name: "receiver") { [listener, state, ended] in
                Self.serve(listener, state)
                ended.signal()
            }
        } catch {
            close(listener)
            throw BenchError("start a thread: \(error)")
        }
    }

    /// Events that came.
    var count: Int { state.count.load(ordering: .relaxed) }

    func stop() {
        state.isStopping.store(true, ordering: .relaxed)
        ended.wait()
        close(listener)
    }

    private static func serve(_ listener: Int32, _ state: State) {
        var waiting = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        var received: [Int32: [UInt8]] = [:]
        defer { for connection in received.keys { close(connection) } }
        while !state.isStopping.load(ordering: .relaxed) {
            guard poll(&waiting, nfds_t(waiting.count), 50) > 0 else { continue }
            for ready in waiting where ready.revents != 0 {
                if ready.fd == listener {
                    let connection = accept(listener, nil, nil)
                    if connection >= 0 { received[connection] = [] }
                } else if !read(ready.fd, &received[ready.fd, default: []], state) {
                    close(ready.fd)
                    received[ready.fd] = nil
                }
            }
            waiting = [waiting[0]] + received.keys.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        }
    }

    /// Reads the bytes that have arrived, and answers complete requests. False at the end of the connection.
    private static func read(_ connection: Int32, _ bytes: inout [UInt8], _ state: State) -> Bool {
        let count = withUnsafeTemporaryAllocation(byteCount: bytesPerRead, alignment: 1) { buffer in
            let count = Glibc.read(connection, buffer.baseAddress, buffer.count)
            // Safe because: so many bytes were read into it.
            if count > 0 { bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
            return count
        }
        if count <= 0 { return false }
        var (start, answers) = (0, [UInt8]())
        // Safe because: the bytes are read alone.
        bytes.withUnsafeBytes { bytes in
            while let end = HTTPReplies.headEnd(in: bytes, from: start) {
                let head = String(decoding: bytes[start..<end], as: UTF8.self).lowercased()
                let length = HTTPReplies.contentLength(of: head) ?? 0
                guard bytes.count - end >= length else { break }
                start = end + length
                state.count.add(1, ordering: .relaxed)
                answers += answer
            }
        }
        bytes.removeFirst(start)
        return answers.isEmpty || write(connection, answers, answers.count) == answers.count
    }
}
