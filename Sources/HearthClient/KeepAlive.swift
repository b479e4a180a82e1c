import HearthSystem

/// Decides when a connection needs a sign of life and when the server's is missing. Holds no timer and no socket.
///
/// A ping does for both: it keeps the server's timer going and asks for an answer. The keep-alive frame is for a
/// connection that receives all the time and never sends.
struct KeepAlive {
    enum Action: Equatable {
        case none
        case sendKeepAlive
        case sendPing
        case giveUp
    }

    private let times: KeepAliveTimes
    private var lastSent: MonotonicTime
    private var lastReceived: MonotonicTime
    /// When the ping was sent that nothing has followed yet.
    private var pinged: MonotonicTime?

    init(_ times: KeepAliveTimes, now: MonotonicTime) {
        self.times = times
        lastSent = now
        lastReceived = now
    }

    mutating func sent(now: MonotonicTime) { lastSent = now }

    mutating func received(now: MonotonicTime) {
        lastReceived = now
        pinged = nil
    }

    /// What to do now; what it names counts as sent.
    mutating func tick(now: MonotonicTime) -> Action {
        if let pinged {
            if now - pinged >= times.answer { return .giveUp }
        } else if now - lastReceived >= times.idle {
            pinged = now
            lastSent = now
            return .sendPing
        }
        if now - lastSent >= times.idle {
            lastSent = now
            return .sendKeepAlive
        }
        return .none
    }

    /// When `tick` may have something to do.
    var deadline: MonotonicTime {
        min(pinged.map { $0 + times.answer } ?? lastReceived + times.idle, lastSent + times.idle)
    }
}
