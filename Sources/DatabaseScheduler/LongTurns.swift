/// Keeps the turns apart that set very many rows one by one: each of them is one step, for which all others wait.
///
/// Together they take at most a fifth of the time (``DatabaseLimits/longTurnPauses``). The part of each beyond 20 ms is
/// limited to a hundredth, so that 99 of 100 small writes wait for at most 20 ms for them.
struct LongTurns {
    private static let tolerable: Int64 = 20_000_000

    let pauses: Int64
    /// When the next one may begin, in nanoseconds.
    private var next = Int64.min

    init(pauses: Int64) { self.pauses = pauses }

    func mayBegin(at time: Int64) -> Bool { time >= next }

    /// One has ended, after so many nanoseconds.
    mutating func ended(at time: Int64, after duration: Int64) {
        next = time + pauses * duration + 100 * max(0, duration - Self.tolerable)
    }
}
