import CHearthLinux
import Glibc
import HearthSystem

extension Stream: TurnMember {
    func ready(_ readiness: Readiness) {
        if readiness.contains(.readable) { mayHaveBytes = true }
        if !readiness.isDisjoint(with: [.peerClosed, .hangUp, .error]) {
            mayHaveBytes = true
            hasEndAhead = true
            if readiness.contains(.error) { hasErrorAhead = true }
        }
        switch state {
        case .connecting:
            finishConnecting(readiness)
        case .handshaking:
            continueHandshake()
        case .open, .draining, .lingering:
            // Either direction of TLS may wait for the other one of the socket.
            if tls != nil, state == .open { mayHaveBytes = true }
            if isWriteBlocked, tls != nil || !readiness.isDisjoint(with: [.writable, .error, .hangUp]) {
                isWriteBlocked = false
                stage()
            }
            if hasErrorAhead, isReadingStopped { return failWithSocketError() }
            readOnce()
        case .closed:
            break
        }
    }

    func shutdownRequested() {
        switch state {
        case .connecting, .handshaking: abort(.shutdown)
        case .open: handler?.shutdownRequested(self)
        case .lingering: armTimer(after: limits.lingerAtShutdownMax)
        case .draining, .closed: break
        }
    }

    /// The connection is there: go on to TLS, or open.
    func becomeConnected() {
        do throws(TLSError) {
            if let attempt { tls = try attempt.makeSession(descriptor) }
        } catch {
            return markClosed(.tls(error.description))
        }
        attempt = nil
        guard tls != nil else { return becomeOpen() }
        state = .handshaking
        continueHandshake()
    }

    private func continueHandshake() {
        guard let tls else { return }
        switch tls.shakeHands() {
        case 1:
            // The end of the handshake may have been read together with later bytes.
            mayHaveBytes = true
            loop.handshakeCount += 1
            becomeOpen()
        case -Int(EAGAIN): break
        case 0:
            loop.failedHandshakeCount += 1
            markClosed(.reset)
        case let failure:
            loop.failedHandshakeCount += 1
            fail(failure)
        }
    }

    private func becomeOpen() {
        state = .open
        timer?.disarm()
        handler?.opened(self)
        if !outbound.isEmpty { stage() }
        if mayHaveBytes { readOnce() }
    }

    /// An error was reported while reading is paused: take it from the socket.
    func failWithSocketError() {
        fail(-Int(abs(linux_get_option(descriptor, SOL_SOCKET, SO_ERROR))))
    }

    /// Closes at once because of a negated `errno` value, or `TLSSession.failed`.
    func fail(_ result: Int) {
        if result == TLSSession.failed { return markClosed(.tls(tls?.failure.description ?? "")) }
        let code = Int32(truncatingIfNeeded: -result)
        switch code {
        case ECONNRESET, EPIPE, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ECONNABORTED, 0: markClosed(.reset)
        default: markClosed(.system(SystemError("use socket", code: code)))
        }
    }
}
