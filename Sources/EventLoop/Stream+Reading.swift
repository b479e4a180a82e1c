import CHearthLinux
import Glibc

extension Stream {
    /// Stops calling `received` until `resumeReading`. The kernel then stops taking bytes from the peer when its buffer
    /// is full. An end of the connection is noticed at the latest after resuming, an error as soon as the kernel has
    /// reported it.
    package func pauseReading() {
        loop.assertIsCurrent()
        isPaused = true
    }

    package func resumeReading() {
        loop.assertIsCurrent()
        isPaused = false
        readInNextTurn()
    }

    var isReadingStopped: Bool { state == .open && (isPaused || isAboveHighWater) || inputHasEnded }

    /// Arranges for a read that no event will cause.
    func readInNextTurn() {
        guard mayHaveBytes, !isInUnread, !isReadingStopped else { return }
        isInUnread = true
        loop.readAgain(self)
    }

    func readFurther() {
        isInUnread = false
        if hasErrorAhead, state == .open, isReadingStopped { return failWithSocketError() }
        readOnce()
    }

    /// Reads once, if there may be something to read and the handler wants it.
    func readOnce() {
        guard mayHaveBytes, !isReadingStopped else { return }
        switch state {
        case .open, .draining, .lingering: break
        case .connecting, .handshaking, .closed: return
        }
        let scratch = loop.scratch
        let count = read(into: scratch)
        if count > 0 {
            loop.bytesReceived &+= UInt64(count)
            if state == .open {
                handler?.received(UnsafeMutableRawBufferPointer(rebasing: scratch[..<count]), on: self)
                if hasErrorAhead, state == .open, isReadingStopped { return failWithSocketError() }
            }
            readInNextTurn()
        } else if count == 0 {
            readEnd()
        } else if count == -Int(EAGAIN) {
            hasEndAhead = false
        } else {
            fail(count)
        }
    }

    /// Reads from TLS or the socket, and finds out whether there may be more.
    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        // After `close` arriving bytes do not matter, only the end.
        if let tls, state == .open {
            let (count, isDry) = tls.read(into: buffer)
            mayHaveBytes = !isDry
            return count
        }
        let count = linux_receive(descriptor, buffer.baseAddress, buffer.count)
        // A short read has emptied the socket, and later bytes cause a new event. An end that was already reported does
        // not.
        mayHaveBytes = count == buffer.count || count > 0 && hasEndAhead
        return count
    }

    private func readEnd() {
        inputHasEnded = true
        mayHaveBytes = false
        switch state {
        case .open: handler?.receivedEnd(on: self)
        case .lingering: markClosed(.peer)
        case .connecting, .handshaking, .draining, .closed: break
        }
    }
}
