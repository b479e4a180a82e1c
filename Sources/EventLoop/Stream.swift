import CHearthLinux
import Glibc
import HearthSystem

/// One TCP connection, plain or TLS, owned by its loop. Everything here is for the loop's thread.
///
/// Reading is edge-triggered: a descriptor is registered once for both directions, so that neither pausing nor waiting
/// for room to write costs a system call. The stream remembers that the kernel may have bytes (`mayHaveBytes`) until a
/// read comes back short. Each stream gets one read per turn, into the loop's scratch memory, so a fast sender delays
/// the others by no more than that, and an idle stream owns no buffers.
///
/// Writing is staged: `send` queues, and at the end of the turn the loop sends the queued bytes of every stream, once.
package final class Stream: @unchecked Sendable {
    // Safe because: other threads may carry a reference to hand it back through `EventLoop.execute`; only the loop's
    // thread reads or changes state, which debug builds assert.

    enum State {
        /// The descriptor is not known to be connected.
        case connecting
        /// TLS is being negotiated.
        case handshaking
        case open
        /// `close` was called: staged bytes are still sent, arriving ones are dropped.
        case draining
        /// All is sent and the peer knows; its own end is awaited, so that it does not get a reset before it has read.
        case lingering
        case closed
    }

    // Members used in sending to very many streams come first, next to each other: in a large fan-out each of them is
    // cold, and every line of the cache that it needs costs more than the work on it.

    package let loop: EventLoop
    var descriptor: Int32 = -1
    var state = State.connecting
    /// The kernel takes no more bytes for now; an event will tell.
    var isWriteBlocked = false
    /// The loop has this stream in its list of those with bytes to send.
    var isInStaged = false
    /// What is staged waits (``hold()``).
    var isHeld = false
    /// The loop has this stream in its list of those whose output waits.
    var isInHeld = false
    /// More than `highWater` bytes wait; reading stops until `lowWater`.
    var isAboveHighWater = false
    /// Present on a TLS connection, from the moment it is connected.
    var tls: TLSSession?
    // Safe because: the queue's methods call nothing but the kernel and OpenSSL, neither of which calls back. The
    // run-time checks of exclusive access would be a third of the instructions spent on one stream of a fan-out.
    @exclusivity(unchecked) var outbound = OutboundQueue()
    package let limits: StreamLimits
    /// Copied bytes that count as waiting (``OutboundMemory``).
    var countedBytes = 0

    /// Receives the events. May be replaced, for instance when a connection changes its protocol.
    package var handler: (any StreamHandler)?
    /// The kernel, or TLS, may have bytes that no event will announce.
    var mayHaveBytes = false
    /// The kernel has reported an end or an error, which a read will bring to light.
    var hasEndAhead = false
    /// It has reported an error, which a handler that pauses would not notice before it resumes.
    var hasErrorAhead = false
    /// When the kernel last took bytes.
    var lastSent = MonotonicTime(nanoseconds: 0)
    /// The peer's end was read.
    var inputHasEnded = false
    /// The handler asked not to read.
    var isPaused = false
    /// After `close`: the bytes that the peer had not taken when its time to do so began.
    var bytesToDrain = 0
    /// The loop has this stream in its list of those to read again.
    var isInUnread = false
    var timer: Timer?

    /// The other side; for an outgoing connection, the address tried last. Nil if it is not an internet socket.
    package internal(set) var peer: SocketAddress?
    var token: Poller.Token?
    /// Present while an outgoing connection is being made.
    var attempt: ConnectAttempt?
    var reason: CloseReason?
    /// Counts this stream among its listener's connections until it is closed.
    var place: ConnectionGauge.Place?

    init(loop: EventLoop, peer: SocketAddress?, limits: StreamLimits) {
        self.loop = loop
        self.peer = peer
        self.limits = limits
        loop.streamCount += 1
    }

    /// Neither closed nor about to be: bytes sent now will go out if the peer takes them.
    package var isOpen: Bool {
        switch state {
        case .connecting, .handshaking, .open: true
        case .draining, .lingering, .closed: false
        }
    }

    // MARK: Deadline

    /// Calls the handler's `timedOut` when `delay` has passed since the start of this turn. There is one deadline per
    /// stream; setting it again moves it, which costs next to nothing. Without effect before `opened` and after
    /// `close`.
    package func setTimeout(after delay: Duration) {
        loop.assertIsCurrent()
        if state == .open { armTimer(after: delay) }
    }

    /// Takes the deadline back.
    package func clearTimeout() {
        loop.assertIsCurrent()
        if state == .open { timer?.disarm() }
    }

    /// The stream's own deadlines (opening, closing) and the handler's take turns on one timer.
    func armTimer(after delay: Duration) {
        if timer == nil {
            // The timer is cancelled before the stream can go away, in `finishClosing`.
            timer = loop.makeTimer { [unowned self] in timerFired() }
        }
        timer?.arm(after: delay)
    }

    private func timerFired() {
        switch state {
        case .open: handler?.timedOut(self)
        case .connecting, .handshaking: abort(.timedOut)
        case .draining: drainTimedOut()
        case .lingering: markClosed(.timedOut)
        case .closed: break
        }
    }
}
