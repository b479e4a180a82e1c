import CHearthLinux
import Glibc
package import HearthSystem

/// A connection for a thread that has nothing else to do: every call waits, for as long as the peer may take. With
/// TLS from the start, or from some moment on.
package final class WaitingConnection {
    /// Why it is of no use any more: one line for people.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    private let descriptor: Int32
    private let timeout: Duration?
    private var tls: TLSSession?

    /// When everything that is under way must be done; nil for no other bound than the timeout of each step.
    package var deadline: MonotonicTime?

    /// Connects to the first address of a host that accepts the connection.
    ///
    /// - parameter timeout: how long the peer may take to connect, and to do each further thing; nil for no other bound
    /// than the deadline.
    /// - parameter deadline: bounds connecting as well, except for the look-up of a name.
    package convenience init(
        host: String, port: UInt16, timeout: Duration?, deadline: MonotonicTime? = nil
    ) throws(Failure) {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0, let first = list else {
            throw Failure(description: "\(host) has no address")
        }
        defer { freeaddrinfo(list) }
        for address in sequence(first: first, next: { $0.pointee.ai_next }) {
            let descriptor = socket(
                address.pointee.ai_family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue),
                0)
            guard descriptor >= 0 else { continue }
            let result = Glibc.connect(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen)
            var code = result == 0 ? 0 : errno
            if code == EINPROGRESS, Self.wait(for: descriptor, POLLOUT, until: Self.end(of: timeout, deadline)) {
                var length = socklen_t(MemoryLayout<Int32>.size)
                if getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) != 0 { code = errno }
            }
            if code == 0 {
                self.init(descriptor: descriptor, timeout: timeout)
                self.deadline = deadline
                return
            }
            Descriptor.close(descriptor)
        }
        throw Failure(description: "\(host):\(port) cannot be reached")
    }

    /// Takes over a connected socket.
    init(descriptor: Int32, timeout: Duration?) {
        self.descriptor = descriptor
        self.timeout = timeout
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
        // Small writes after one another would wait for the peer's acknowledgement.
        _ = linux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    }

    deinit {
        tls?.sendCloseNotify()
        Descriptor.close(descriptor)
    }

    /// Encrypts from here on; the thread gets no `SIGPIPE` any more. A client checks the peer's certificate for
    /// `serverName`.
    package func startTLS(
        _ context: TLSContext, serverName: String, offering offered: TLSContext.ApplicationProtocol = .http1
    ) throws(Failure) {
        // OpenSSL writes without `MSG_NOSIGNAL`.
        linux_block_broken_pipe_signal()
        let session: TLSSession
        do throws(TLSError) {
            session = try context.makeSession(descriptor, serverName: serverName, offering: offered)
        } catch { throw Failure(description: error.description) }
        while true {
            let result = session.shakeHands()
            if result == 1 { break }
            guard result == -Int(EAGAIN) else { throw failure(result, session) }
            // It may have to write, too, but in a handshake there is always room for that.
            try waitForPeer(POLLIN)
        }
        // A peer without ALPN speaks HTTP/1.1 (RFC 9113, section 3.2).
        guard offered == .http1 || session.speaks(offered.rawValue) else {
            throw Failure(description: "the peer does not choose '\(offered.rawValue)' in the TLS handshake (ALPN)")
        }
        tls = session
    }

    package func send(_ bytes: [UInt8]) throws(Failure) {
        var sent = 0
        while sent < bytes.count {
            let result = bytes[sent...].withUnsafeBytes { rest in
                tls?.write(rest)
                    ?? Self.result(Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL)))
            }
            if result > 0 {
                sent += result
            } else if result == -Int(EAGAIN) {
                try waitForPeer(POLLOUT)
            } else {
                throw failure(result, tls)
            }
        }
    }

    /// The received bytes, at most `maximum`; empty at the end.
    package func receive(maximum: Int = 4096) throws(Failure) -> [UInt8] {
        while true {
            if let bytes = try receiveAvailable(maximum) { return bytes }
            try waitForPeer(POLLIN)
        }
    }

    /// The bytes received by some time, at most `maximum`: empty at the end of the stream, nil if none came.
    package func receive(maximum: Int = 4096, until end: MonotonicTime) throws(Failure) -> [UInt8]? {
        while true {
            if let bytes = try receiveAvailable(maximum) { return bytes }
            guard Self.wait(for: descriptor, POLLIN, until: end) else { return nil }
        }
    }

    /// Nil if nothing has come yet.
    private func receiveAvailable(_ maximum: Int) throws(Failure) -> [UInt8]? {
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: maximum) { buffer, count in
            let buffer = UnsafeMutableRawBufferPointer(buffer)
            result = tls?.read(into: buffer).count ?? Self.result(recv(descriptor, buffer.baseAddress, buffer.count, 0))
            count = max(result, 0)
        }
        if result >= 0 { return bytes }
        guard result == -Int(EAGAIN) else { throw failure(result, tls) }
        return nil
    }

    // MARK: Waiting

    private static func result(_ count: Int) -> Int { count < 0 ? -Int(errno) : count }

    private func waitForPeer(_ event: Int32) throws(Failure) {
        guard Self.wait(for: descriptor, event, until: Self.end(of: timeout, deadline)) else {
            throw Failure(description: "the peer does not answer")
        }
    }

    private static func end(of timeout: Duration?, _ deadline: MonotonicTime?) -> MonotonicTime? {
        [timeout.map { MonotonicTime.current + $0 }, deadline].compactMap(\.self).min()
    }

    /// - parameter end: nil to wait as long as it takes.
    private static func wait(for descriptor: Int32, _ event: Int32, until end: MonotonicTime?) -> Bool {
        while true {
            var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
            var milliseconds: Int64 = -1
            if let end {
                let left = (end - MonotonicTime.current).components
                milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000
                if milliseconds <= 0 { return false }
            }
            let count = poll(&entry, 1, Int32(clamping: milliseconds))
            if count > 0 { return true }
            if count < 0, errno != EINTR { return false }
        }
    }

    private func failure(_ result: Int, _ session: TLSSession?) -> Failure {
        if result == TLSSession.failed, let session { return Failure(description: session.failure.description) }
        return Failure(
            description: result == 0 ? "the peer has hung up" : SystemError.text(of: Int32(clamping: -result)))
    }
}
