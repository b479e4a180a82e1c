import HearthRealtimeDatabase
import Testing

@Suite("the clock of commits")
struct CommitClockTests {
    private static let hour: Int64 = 3_600_000
    private static let noon: Int64 = 1_700_000_000_000

    @Test("does not go back with a clock that goes back a little")
    func monotonic() {
        var clock = CommitClock(last: 0, wall: Self.noon, uptime: 0)
        #expect(clock.now(wall: Self.noon + 10, uptime: 10) == (Self.noon + 10, nil))
        #expect(clock.now(wall: Self.noon - 5_000, uptime: 20) == (Self.noon + 10, nil))
        #expect(clock.now(wall: Self.noon + 5_000, uptime: 10_020) == (Self.noon + 5_000, nil))
    }

    @Test("goes back to a clock that was wrong, says so, and runs on")
    func wrongOnce() {
        var clock = CommitClock(last: 0, wall: Self.noon, uptime: 0)
        let century = 100 * 365 * 24 * Self.hour
        #expect(clock.now(wall: Self.noon + century, uptime: 0) == (Self.noon + century, century))
        #expect(clock.now(wall: Self.noon + 300, uptime: 300) == (Self.noon + 300, -century))
        #expect(clock.now(wall: Self.noon + 301, uptime: 301) == (Self.noon + 301, nil))
    }

    @Test("is not held by commits of the future that an earlier process has made")
    func wrongBefore() {
        let future = Self.noon + 24 * Self.hour
        var clock = CommitClock(last: future, wall: Self.noon, uptime: 0)
        #expect(clock.now(wall: Self.noon, uptime: 0) == (Self.noon, Self.noon - future))
        #expect(clock.now(wall: Self.noon + 1, uptime: 1) == (Self.noon + 1, nil))
    }

    @Test("lets history grow older by the time that passes, whatever the clock does")
    func history() {
        let window = 24 * Self.hour
        // The server was off for a month.
        var clock = CommitClock(last: Self.noon - 720 * Self.hour, wall: Self.noon, uptime: 0)
        #expect(clock.historyTime(window: window) == Self.noon - 720 * Self.hour)
        _ = clock.now(wall: Self.noon + Self.hour, uptime: Self.hour)
        #expect(clock.historyTime(window: window) == Self.noon - 719 * Self.hour)
        // The clock jumps.
        _ = clock.now(wall: Self.noon + 9_000 * Self.hour, uptime: 2 * Self.hour)
        #expect(clock.historyTime(window: window) == Self.noon - 719 * Self.hour)
        _ = clock.now(wall: Self.noon + 9_001 * Self.hour, uptime: 3 * Self.hour)
        #expect(clock.historyTime(window: window) == Self.noon - 718 * Self.hour)
        // All of before is as old as it may get.
        _ = clock.now(wall: Self.noon + 9_024 * Self.hour, uptime: 26 * Self.hour)
        #expect(clock.historyTime(window: window) == Self.noon + 9_024 * Self.hour)
    }
}
