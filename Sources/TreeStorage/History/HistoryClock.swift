/// By which time the kept changes grow older: the clock of the machine, less by how far it has jumped ahead.
///
/// A clock that jumps forward makes changes look old that are not. So after a jump they grow older only as time passes:
/// by the clock before the jump, until a time as long as the history has passed without another one. Then even the
/// changes from just before the jump are old enough. A jump back makes a jump forward good. The time while no server
/// ran counts up to ``pauseMax``; a longer one cannot be told from a jump.
struct HistoryClock: Equatable {
    /// Milliseconds.
    static let jumpMin: Int64 = 60_000
    static let pauseMax: Int64 = 3_600_000

    /// What is kept on disk, in milliseconds: the clock of the machine when it was last looked at; by how much it is
    /// ahead, negative if it has jumped back; and the time since it last jumped.
    struct State: Equatable {
        var wall: Int64
        var lead: Int64
        var steady: Int64
    }

    private(set) var state: State
    private var uptime: Int64

    /// - parameter last: the state at the end of another process; nil if the history begins.
    init(last: State?, wall: Int64, uptime: Int64) {
        state = last ?? State(wall: wall, lead: 0, steady: 0)
        self.uptime = uptime
        let pause = wall - state.wall
        if pause < -Self.jumpMin || pause > Self.pauseMax { jump(by: pause) }
        state.wall = wall
    }

    /// Takes up the clock of the machine, and a monotonic one. Answers whether the first has jumped.
    @discardableResult
    mutating func advance(wall: Int64, uptime: Int64) -> Bool {
        let passed = uptime - self.uptime
        let jump = wall - state.wall - passed
        state.wall = wall
        self.uptime = uptime
        state.steady += passed
        if abs(jump) <= Self.jumpMin { return false }
        self.jump(by: jump)
        return true
    }

    private mutating func jump(by milliseconds: Int64) {
        state.lead += milliseconds
        state.steady = 0
    }

    /// Changes that are `keep` milliseconds older may be forgotten.
    func time(keeping keep: Int64) -> Int64 {
        state.steady >= keep ? state.wall : state.wall - max(state.lead, 0)
    }
}
