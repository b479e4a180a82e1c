import CHearthLinux
import Glibc
import HearthSystem

extension Stream {
    /// Closes gracefully: staged bytes are sent, the peer is told of the end and given time to end too, all within
    /// `StreamLimits.closeTimeout`. A peer that takes `StreamLimits.closeBytesMin` in that time gets it again, unless
    /// the loop is shutting down or too much waits for all peers together. Bytes that arrive meanwhile are dropped. The
    /// handler now gets only `closed`.
    ///
    /// - parameter reason: the reason for `closed`.
    package func close(_ reason: CloseReason = .local) {
        loop.assertIsCurrent()
        switch state {
        case .connecting, .handshaking:
            markClosed(reason)
        case .open:
            self.reason = reason
            state = .draining
            drainFurther()
            // The end of the staged bytes is handled where the turn's writes are made.
            if !isWriteBlocked { stage() }
            readInNextTurn()
        case .draining, .lingering, .closed:
            break
        }
    }

    /// Gives the peer time to take bytes.
    private func drainFurther() {
        bytesToDrain = bytesNotTaken
        armTimer(after: limits.closeTimeout)
    }

    /// The kernel says that it has room again only once it has much, which may be long after the last time.
    private var bytesNotTaken: Int { outbound.byteCount + linux_unsent(descriptor) }

    /// The time for taking bytes is over.
    func drainTimedOut() {
        let taken = bytesToDrain - bytesNotTaken
        if taken < limits.closeBytesMin || loop.isShuttingDown || loop.outbound.isExceeded { return abort(.timedOut) }
        drainFurther()
    }

    /// Closes at once: staged bytes are dropped and the peer gets a reset. The handler gets only `closed`, at the end
    /// of the turn.
    ///
    /// - parameter reason: the reason for `closed`.
    package func abort(_ reason: CloseReason = .local) {
        loop.assertIsCurrent()
        guard state != .closed else { return }
        // Otherwise the kernel would keep trying to deliver bytes that the peer does not read.
        if descriptor >= 0 { _ = linux_reset_on_close(descriptor) }
        markClosed(reason)
    }

    /// Everything is sent: tell the peer, and wait for its end. A descriptor closed with bytes unread would reset the
    /// connection, and the peer could lose unread bytes.
    func endOutput() {
        tls?.sendCloseNotify()
        _ = linux_shutdown_output(descriptor)
        if inputHasEnded { return markClosed(.peer) }
        state = .lingering
        if loop.isShuttingDown { armTimer(after: min(limits.lingerAtShutdownMax, limits.closeTimeout)) }
        readInNextTurn()
    }

    /// Ends all activity on this stream. An earlier reason, given to `close`, stays.
    func markClosed(_ reason: CloseReason) {
        guard state != .closed else { return }
        state = .closed
        self.reason = self.reason ?? reason
        dropStaged()
        loop.reportAtEndOfTurn(self)
    }

    /// At the turn's end: gives everything back and tells the handler.
    func finishClosing() {
        timer?.cancel()
        timer = nil
        attempt = nil
        tls = nil
        if let token { loop.poller.remove(token) }
        token = nil
        Descriptor.close(descriptor)
        descriptor = -1
        place = nil
        loop.streamCount -= 1
        let last = handler
        handler = nil
        last?.closed(self, reason: reason ?? .local)
    }
}
