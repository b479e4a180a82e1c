import Glibc
import Synchronization

/// The output for results. Each piece is written at once, also into a pipe. A failure is remembered, and nothing is
/// written after it.
package enum StandardOutput {
    private struct State {
        var failure: String?
        var isAbandoned = false
        var filter = ControlFilter(keepsLines: true)

        mutating func fail(_ code: Int32) {
            failure = "cannot write standard output: \(String(cString: strerror(code)))"
            isAbandoned = code == EPIPE
        }
    }

    package static let isTerminal = isatty(STDOUT_FILENO) == 1
    private static let state = Mutex(State())

    /// Why not everything could be written.
    package static var failure: String? { state.withLock { $0.failure } }

    /// It is a pipe without a reader.
    package static var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    /// It is a pipe or a socket.
    static var isPipe: Bool {
        var status = stat()
        return fstat(STDOUT_FILENO, &status) == 0 && [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
    }

    /// Waits until the reader closes the pipe. False if that cannot be detected.
    static func waitForAbandonment() -> Bool {
        var pipe = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        while poll(&pipe, 1, -1) < 0 { if errno != EINTR { return false } }
        guard pipe.revents & Int16(POLLERR) != 0 else { return false }
        state.withLock { $0.fail(EPIPE) }
        return true
    }

    /// False when that failed, or something before it did.
    @discardableResult
    package static func line(_ text: String) -> Bool { write(text + "\n") }

    @discardableResult
    package static func write(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
    }

    @discardableResult
    package static func write(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { write($0) } }

    /// A terminal gets no control characters.
    package static func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard isTerminal else { return send(bytes) }
        let filtered = state.withLock { $0.filter.filtered(bytes) }
        return filtered.withUnsafeBytes { send($0) }
    }

    /// Writes text that may include this program's control sequences for the terminal.
    @discardableResult
    static func control(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { send(UnsafeRawBufferPointer($0)) }
    }

    @discardableResult
    static func control(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { send($0) } }

    private static func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard failure == nil else { return false }
        guard let code = writeAll(bytes, to: STDOUT_FILENO) else { return true }
        state.withLock { $0.fail(code) }
        return false
    }
}

/// Where messages for people go, so that output stays clean for pipes.
package enum StandardError {
    package static func write(_ text: String) {
        var text = text
        // A failure cannot be reported any more.
        _ = text.withUTF8 { writeAll(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }
}

/// Writes all of it; answers the `errno` value of a failure, if any.
func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32? {
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count >= 0 {
            rest = rest.dropFirst(count)
        } else if errno == EAGAIN {
            // Another program has made the shared output non-blocking.
            var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&ready, 1, -1)
        } else if errno != EINTR {
            return errno
        }
    }
    return nil
}
