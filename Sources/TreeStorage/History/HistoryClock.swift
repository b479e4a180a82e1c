/// The age of kept changes: the time that has run since, also if the clock of the machine is set.
///
/// A clock that jumps forward makes changes look old that are not, and one that jumps back makes changes look new for
/// as long as it was ahead. So the age of a change is the time that has run since it was made. This is measured by a
/// monotonic clock. While no server ran, and while the database was not in use before that, it is the difference of the
/// machine's clock, but not more than ``pauseMax``: a longer pause cannot be told from a jump.
///
/// The times of changes are those of the machine's clock. Marks translate them: each says what that clock showed when
/// so much time had run, and up to which change. There is a mark for each jump, and one a day. Once a mark is old, all
/// changes before it are. So a change stays for as much running time as the history is kept, and a day more at most.
struct HistoryClock: Equatable {
    /// Milliseconds.
    static let jumpMin: Int64 = 60_000
    static let pauseMax: Int64 = 86_400_000
    static let markInterval: Int64 = 86_400_000

    struct Mark: Equatable {
        /// The time that had run, and the clock of the machine, in milliseconds.
        var running: Int64
        var wall: Int64
        /// Changes up to `last` were made before the mark, those up to `before` also before what it is for, which may
        /// be a jump.
        var before: UInt64
        var last: UInt64

        /// For changes without another mark: their times tell how much time had run.
        static let none = Mark(running: 0, wall: 0, before: 0, last: 0)
    }

    /// What is kept on disk: the clock of the machine when it was last looked at, the time that had run, in
    /// milliseconds, and the marks in order.
    struct State: Equatable {
        var wall: Int64
        var running: Int64
        var marks: [Mark]
    }

    /// Which changes are old: all up to `last`; those after it and up to `end` by their times, which tell as long as
    /// they are before `time`.
    struct Horizon: Equatable {
        var last: UInt64
        var end: UInt64
        var time: Int64
    }

    /// Whether a file may have a time, in milliseconds: differences of such times are numbers.
    static func isPossible(_ time: Int64) -> Bool { time.magnitude <= 1 << 53 }

    private(set) var state: State
    private var uptime: Int64

    /// - parameter last: the state at the end of another process, if any.
    /// - parameter newest: the time of the last change that was known before, if there are any.
    init(last: State?, newest: Int64?, wall: Int64, uptime: Int64) {
        let newest = newest.flatMap { Self.isPossible($0) ? $0 : nil }
        state = last ?? State(wall: newest ?? wall, running: min(newest ?? wall, wall), marks: [.none])
        state.running += min(max(wall - state.wall, 0), Self.pauseMax)
        state.wall = wall
        self.uptime = uptime
    }

    /// Takes up the clock of the machine, and a monotonic one. Answers whether there is a new mark.
    ///
    /// - parameter before: the last change that was known when the clocks were last looked at.
    /// - parameter last: the last change that is known now.
    /// - parameter keepMax: for how long changes are kept: marks that are older are dropped.
    mutating func advance(wall: Int64, uptime: Int64, before: UInt64, last: UInt64, keepMax: Int64) -> Bool {
        state.running += max(uptime - self.uptime, 0)
        state.wall = wall
        self.uptime = uptime
        let mark = state.marks.last ?? .none
        let passed = state.running - mark.running
        guard abs(wall - mark.wall - passed) > Self.jumpMin || passed >= Self.markInterval else { return false }
        if let old = state.marks.lastIndex(where: { $0.running <= state.running - keepMax }) {
            state.marks.removeFirst(old)
        }
        state.marks.append(Mark(running: state.running, wall: wall, before: before, last: last))
        return true
    }

    /// The changes that are `keep` milliseconds old; nil if none are.
    func horizon(keeping keep: Int64) -> Horizon? {
        let old = state.running - keep
        guard let index = state.marks.lastIndex(where: { $0.running <= old }) else { return nil }
        let mark = state.marks[index]
        let end = index + 1 < state.marks.count ? state.marks[index + 1].before : .max
        return Horizon(last: mark.last, end: end, time: mark.wall + old - mark.running)
    }
}
