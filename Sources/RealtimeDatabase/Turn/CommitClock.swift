/// The time of a database's commits, made of the clock of the machine, which may be wrong and be set.
///
/// Server timestamps, except those of large writes, which are the time at which the server began with them, do not go
/// back, so that they keep the order of commits, as long as they are at most ``aheadMax`` ahead of the clock. A clock
/// that was further ahead than that was wrong: then they go back to it, once.
///
/// What the log keeps is decided by the time that the server has seen pass. A clock that jumps must not cost the
/// history of the last hours: after a jump, and after a start, the history grows older only as time passes, until all
/// of it from before has reached its age.
package struct CommitClock: Sendable {
    /// Milliseconds.
    package static let aheadMax: Int64 = 60_000

    private var last: Int64
    private var wall: Int64
    private var uptime: Int64
    /// The time of history at the last jump, and when that was.
    private var history: (time: Int64, since: Int64)

    /// - parameter last: the time of the last commit, 0 if there was none.
    /// - parameter wall: the clock of the machine, in milliseconds since 1970.
    /// - parameter uptime: a monotonic clock, in milliseconds.
    package init(last: Int64, wall: Int64, uptime: Int64) {
        self.last = last
        self.wall = wall
        self.uptime = uptime
        history = (last == 0 ? wall : min(last, wall), uptime)
    }

    /// The time of a commit that is made now. The second result is by how much the clock has jumped since the last
    /// call, in milliseconds; nil if it has not. At the first call it is how far the clock is behind the last commit.
    package mutating func now(wall: Int64, uptime: Int64) -> (time: Int64, jump: Int64?) {
        var jump = wall - self.wall - (uptime - self.uptime)
        if last > wall + Self.aheadMax {
            if abs(jump) <= Self.aheadMax { jump = wall - last }
            last = wall
        }
        if abs(jump) > Self.aheadMax {
            history = (min(historyTime(uptime: self.uptime, window: .max), wall), uptime)
        }
        self.wall = wall
        self.uptime = uptime
        last = max(last, wall)
        return (last, abs(jump) > Self.aheadMax ? jump : nil)
    }

    /// A commit with this time was made elsewhere: those that are made here from now on are not earlier.
    package mutating func follow(_ time: Int64) { last = max(last, time) }

    /// The time by which the log is pruned: records that are `window` milliseconds older may be removed.
    package func historyTime(window: Int64) -> Int64 { historyTime(uptime: uptime, window: window) }

    private func historyTime(uptime: Int64, window: Int64) -> Int64 {
        let passed = uptime - history.since
        return passed >= window ? wall : min(wall, history.time + passed)
    }
}
