import CLinux
import Glibc

extension Stream: Pollable {
    func ready(_ readiness: Readiness) {
        if readiness.contains(.readable) { mayHaveBytes = true }
        if !readiness.isDisjoint(with: [.peerClosed, .hangUp, .error]) {
            mayHaveBytes = true
            hasEndAhead = true
        }
        switch state {
        case .connecting:
            finishConnecting(readiness)
        case .handshaking:
            break
        case .open, .draining, .lingering:
            if isWriteBlocked, !readiness.isDisjoint(with: [.writable, .error, .hangUp]) {
                isWriteBlocked = false
                stage()
            }
            if readiness.contains(.error), isReadingStopped { return failWithSocketError() }
            readOnce()
        case .closed:
            break
        }
    }

    func shutdownRequested() {
        switch state {
        case .connecting, .handshaking: abort(.shutdown)
        case .open: handler?.shutdownRequested(self)
        case .draining, .lingering, .closed: break
        }
    }

    /// The connection is there: go on to TLS, or open.
    func becomeConnected() {
        attempt = nil
        becomeOpen()
    }

    func becomeOpen() {
        state = .open
        timer?.disarm()
        handler?.opened(self)
        if !outbound.isEmpty { stage() }
        if mayHaveBytes { readOnce() }
    }

    /// An error was reported while nobody reads: take it from the socket.
    private func failWithSocketError() {
        fail(code: linux_get_option(descriptor, SOL_SOCKET, SO_ERROR))
    }

    /// Closes at once because of an `errno` value.
    func fail(code: Int32) {
        switch code {
        case ECONNRESET, EPIPE, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ECONNABORTED, 0: markClosed(.reset)
        default: markClosed(.system(SystemError("use socket", code: code)))
        }
    }
}
