import HearthSystem

/// How much more than text compressed messages may expand, in bytes: an allowance that is used up and comes back with
/// time.
struct ExpansionBudget {
    private let bytesPerSecond: Int
    private var left: Double
    private var since: MonotonicTime

    /// There is a second's allowance at the beginning, and never more.
    init(bytesPerSecond: Int, now: MonotonicTime) {
        self.bytesPerSecond = bytesPerSecond
        left = Double(bytesPerSecond)
        since = now
    }

    /// Uses up some of it, if need be in advance. Answers how long to wait for the next use.
    mutating func use(_ bytes: Int, now: MonotonicTime) -> Duration {
        let earned = (now - since) / .seconds(1) * Double(bytesPerSecond)
        since = now
        left = min(left + earned, Double(bytesPerSecond)) - Double(bytes)
        return left >= 0 ? .zero : .seconds(-left / Double(bytesPerSecond))
    }
}
