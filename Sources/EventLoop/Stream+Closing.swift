import CHearthLinux
import Glibc
import HearthSystem

extension Stream {
    /// Closes gracefully: what is staged is sent, the peer is told of the end and given time to end too, all within
    /// `StreamLimits.closeTimeout`. What arrives meanwhile is dropped. The handler hears only of `closed` from now on.
    ///
    /// - parameter reason: what `closed` will report.
    package func close(_ reason: CloseReason = .local) {
        loop.assertIsCurrent()
        switch state {
        case .connecting, .handshaking:
            markClosed(reason)
        case .open:
            self.reason = reason
            state = .draining
            armTimer(after: limits.closeTimeout)
            // The end of what is staged is handled where the turn's writes are made.
            if !isWriteBlocked { stage() }
            readInNextTurn()
        case .draining, .lingering, .closed:
            break
        }
    }

    /// Closes at once: what is staged is dropped and the peer gets a reset. The handler hears of `closed`, at the end
    /// of the turn, and of nothing else any more.
    ///
    /// - parameter reason: what `closed` will report.
    package func abort(_ reason: CloseReason = .local) {
        loop.assertIsCurrent()
        guard state != .closed else { return }
        // Otherwise the kernel would go on trying to deliver what the peer does not take.
        if descriptor >= 0 { _ = linux_reset_on_close(descriptor) }
        markClosed(reason)
    }

    /// All is sent: tell the peer, and wait for its end. A descriptor closed with bytes unread would reset the
    /// connection, and the peer could lose what it has not read yet.
    func endOutput() {
        tls?.sendCloseNotify()
        _ = linux_shutdown_output(descriptor)
        if inputHasEnded { return markClosed(.peer) }
        state = .lingering
        if loop.isShuttingDown { armTimer(after: min(limits.lingerAtShutdownMax, limits.closeTimeout)) }
        readInNextTurn()
    }

    /// Nothing more happens on this stream. A reason given earlier, to `close`, stands.
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
