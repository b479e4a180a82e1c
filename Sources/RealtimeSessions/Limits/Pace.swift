package import HearthSystem

/// How long a peer may take to finish sending: each byte has its time at the least rate, and beyond that the peer has a
/// reserve to use up. Faster bytes refill it.
package struct Pace {
    /// Bytes per second.
    private let rateMin: Int
    private let patience: Duration
    /// When the peer has fallen too far behind.
    package private(set) var deadline: MonotonicTime

    package init(_ limits: ConnectionLimits, rateMin: Int? = nil, now: MonotonicTime) {
        self.rateMin = max(rateMin ?? limits.receiveRateMin, 1)
        patience = limits.receivePatience
        deadline = now + patience
    }

    package mutating func received(_ bytes: Int, now: MonotonicTime) {
        deadline = min(deadline + .seconds(bytes) / rateMin, now + patience)
    }

    /// The peer could send nothing up to now.
    mutating func restart(now: MonotonicTime) { deadline = now + patience }
}
