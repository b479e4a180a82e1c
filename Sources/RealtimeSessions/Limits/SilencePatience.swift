import HearthEventLoop

/// How long a client may say nothing. One that takes what it is sent need not say anything (Protocol.md 2.6). One that
/// is gone takes nothing, although its connection accepts much that is sent to it.
struct SilencePatience {
    let timeout: Duration
    /// What the client had taken when its time was last over.
    private var mark: UInt64 = 0

    init(timeout: Duration) { self.timeout = timeout }

    /// More time for a client that has said nothing for ``timeout``; nil if it is gone.
    ///
    /// - parameter isUnheard: what the client says is not read at the moment, and nothing waits for it.
    mutating func more(after taken: Stream.Taken, isUnheard: Bool) -> Duration? {
        defer { mark = taken.mark }
        if taken.mark != mark, taken.age < timeout { return timeout - taken.age }
        return isUnheard ? timeout : nil
    }
}
