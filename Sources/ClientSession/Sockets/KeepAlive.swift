/// Decides when a connection needs a sign of life and when the server's is missing. Holds no timer and no socket.
///
/// A ping does for both: it keeps the server's timer going and asks for an answer. The keep-alive frame is for a
/// connection that receives all the time and never sends. Moments are times of one loop (`ClientLoop.time`).
struct KeepAlive {
    enum Action: Equatable {
        case none
        case sendKeepAlive
        case sendPing
        case giveUp
    }

    private let times: KeepAliveTimes
    private var lastSent: Duration
    private var lastReceived: Duration
    /// When the ping was sent that nothing has followed yet.
    private var pinged: Duration?

    init(_ times: KeepAliveTimes, now: Duration) {
        self.times = times
        lastSent = now
        lastReceived = now
    }

    mutating func sent(now: Duration) { lastSent = now }

    mutating func received(now: Duration) {
        lastReceived = now
        pinged = nil
    }

    /// The action for now; a ping that it names counts as sent.
    mutating func tick(now: Duration) -> Action {
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
    var deadline: Duration {
        min(pinged.map { $0 + times.answer } ?? lastReceived + times.idle, lastSent + times.idle)
    }
}
