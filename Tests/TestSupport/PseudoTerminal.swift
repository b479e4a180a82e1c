import CHearthLinux
import Glibc
import Synchronization
import HearthSystem

/// A program on a terminal of its own, with somebody in front of it who types, and waits until something is shown.
///
///     let terminal = try PseudoTerminal("hearth-notebooks", ["--server", url])
///     try await terminal.wait(for: "Sign in")
///     terminal.type("ann@example.com", .enter)
///
/// The program ends with the object.
package final class PseudoTerminal: Sendable {
    /// Why a wait failed. Its text has the screen at that time.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Something that is typed.
    package enum Keys: ExpressibleByStringLiteral, Sendable {
        case text(String)
        case enter, escape, tab, backTab, backspace, delete
        case up, down, left, right, home, end, pageUp, pageDown
        /// With a letter, as in `.control("c")`.
        case control(Unicode.Scalar)

        package init(stringLiteral text: String) { self = .text(text) }

        fileprivate var bytes: [UInt8] {
            let text =
                switch self {
                case .text(let text): text
                case .enter: "\r"
                case .escape: "\u{1B}"
                case .tab: "\t"
                case .backTab: "\u{1B}[Z"
                case .backspace: "\u{7F}"
                case .delete: "\u{1B}[3~"
                case .up: "\u{1B}[A"
                case .down: "\u{1B}[B"
                case .right: "\u{1B}[C"
                case .left: "\u{1B}[D"
                case .home: "\u{1B}[H"
                case .end: "\u{1B}[F"
                case .pageUp: "\u{1B}[5~"
                case .pageDown: "\u{1B}[6~"
                case .control(let letter): String(Unicode.Scalar(UInt8(letter.value & 0x1F)))
                }
            return Array(text.utf8)
        }
    }

    private struct Waiter {
        let deadline: ContinuousClock.Instant
        let what: String
        let condition: @Sendable (TerminalScreen) -> Bool
        let continuation: CheckedContinuation<Result<TerminalScreen, Failure>, Never>
    }

    private struct State {
        /// After all that was read.
        var written: TerminalScreen
        /// The same, unless the program is in the middle of drawing: then what was shown before.
        var screen: TerminalScreen
        var waiters: [Waiter] = []
        /// Nil while the program runs; then its exit code, or the negated number of the signal that ended it.
        var exitCode: Int32?
    }

    /// What the thread that reads shares with those who wait.
    private final class Shared: Sendable {
        let state: Mutex<State>

        init(_ screen: TerminalScreen) { state = Mutex(State(written: screen, screen: screen)) }
    }

    private let program: String
    private let process: pid_t
    private let master: Int32
    private let shared: Shared
    private let reader: NamedThread
    /// Wakes the reading thread when somebody has begun to wait.
    private let bell: [Int32]

    /// Starts a program that was built with the tests, or the one at a path, with these words and this environment.
    package init(
        _ program: String, _ words: [String] = [], environment: [String: String] = [:], columns: Int = 80,
        rows: Int = 24
    ) throws {
        guard let path = program.contains("/") ? program : BuiltProgram.path(program) else {
            throw Failure(description: "\(program) is not built")
        }
        self.program = program
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(description: "no pipe: \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        bell = ends
        shared = Shared(TerminalScreen(columns: columns, rows: rows))
        var name = [CChar](repeating: 0, count: 128)
        master = linux_open_pseudo_terminal(&name, name.count)
        guard master >= 0 else { throw Failure(description: "no terminal: \(-master)") }
        Self.set(columns, rows, on: master)
        let environment = ["TERM": "xterm", "LC_ALL": "C.UTF-8"].merging(environment) { $1 }
        process = try Self.spawn(path, words, environment, terminal: name)
        reader = try NamedThread(name: "terminal") { [process, master, bell, shared, program] in
            Self.read(process, master, bell[0], shared, program)
        }
    }

    deinit {
        signal(SIGKILL)
        reader.join()
        for descriptor in bell + [master] { close(descriptor) }
    }

    private static func spawn(
        _ path: String, _ words: [String], _ environment: [String: String], terminal: [CChar]
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The first terminal that the leader of a new session opens becomes the session's.
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, terminal, O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO)
        let arguments = ([path] + words).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var process: pid_t = 0
        // POSIX_SPAWN_SETSID, which Glibc's module does not have.
        let code = withSpawnAttributes(flags: 0x80) {
            posix_spawn(&process, path, &actions, $0, arguments, variables)
        }
        guard code == 0 else { throw Failure(description: "cannot start \(path): \(code)") }
        return process
    }

    private static func set(_ columns: Int, _ rows: Int, on terminal: Int32) {
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
    }

    // MARK: In front of it

    /// The present screen.
    package var screen: TerminalScreen { shared.state.withLock { $0.screen } }

    /// Whether the terminal shows what is typed by itself, and hands over lines: what programs that read keys turn off.
    package var readsLines: Bool {
        var settings = termios()
        return tcgetattr(master, &settings) == 0
            && settings.c_lflag & tcflag_t(ECHO | ICANON) == tcflag_t(ECHO | ICANON)
    }

    /// Types keys.
    package func type(_ keys: Keys...) {
        let bytes = keys.flatMap(\.bytes)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(master, $0.baseAddress, $0.count) }
            if count <= 0 { return }
            written += count
        }
    }

    /// Changes the size; the program is told by a signal.
    package func resize(columns: Int, rows: Int) {
        shared.state.withLock { state in
            state.written.resize(columns: columns, rows: rows)
            state.screen.resize(columns: columns, rows: rows)
        }
        Self.set(columns, rows, on: master)
    }

    package func signal(_ number: Int32) {
        // Once the program has ended its number may be another's.
        shared.state.withLock { if $0.exitCode == nil { kill(process, number) } }
    }

    /// Waits until a text is somewhere on the screen.
    @discardableResult
    package func wait(for text: String, within limit: Duration = .seconds(600)) async throws(Failure) -> TerminalScreen
    {
        try await wait(for: "'\(text)'", within: limit) { $0.text.contains(text) }
    }

    /// Waits until a text is nowhere on the screen.
    @discardableResult
    package func waitUntilGone(
        _ text: String, within limit: Duration = .seconds(600)
    ) async throws(Failure) -> TerminalScreen {
        try await wait(for: "the end of '\(text)'", within: limit) { !$0.text.contains(text) }
    }

    /// Waits until the screen is as wanted.
    ///
    /// - parameter what: a name of the condition, for the text of the failure.
    @discardableResult
    package func wait(
        for what: String, within limit: Duration = .seconds(600),
        until condition: @escaping @Sendable (TerminalScreen) -> Bool
    ) async throws(Failure) -> TerminalScreen {
        let deadline = ContinuousClock.now + limit
        let result = await withCheckedContinuation { continuation in
            shared.state.withLock { state in
                state.waiters.append(
                    Waiter(deadline: deadline, what: what, condition: condition, continuation: continuation))
                // Then there is no reader any more.
                if state.exitCode != nil { _ = Self.settle(&state, program) }
            }
            Self.ring(bell[1])
        }
        return try result.get()
    }

    /// Waits for the program's end: its exit code, or the negated number of the signal that ended it.
    package func outcome(within limit: Duration = .seconds(600)) async throws(Failure) -> Int32 {
        _ = try? await wait(for: "the end", within: limit) { _ in false }
        guard let code = shared.state.withLock({ $0.exitCode }) else {
            throw Failure(description: "\(program) did not end; it shows\n\(screen.text)")
        }
        return code
    }

    // MARK: The thread that reads

    private static func ring(_ bell: Int32) {
        var byte: UInt8 = 0
        _ = Glibc.write(bell, &byte, 1)
    }

    private static func read(
        _ process: pid_t, _ master: Int32, _ bell: Int32, _ shared: Shared, _ program: String
    ) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let timeout = shared.state.withLock { settle(&$0, program) }
            var ready = [
                pollfd(fd: master, events: Int16(POLLIN), revents: 0),
                pollfd(fd: bell, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&ready, 2, timeout) >= 0 || errno == EINTR else { break }
            if ready[1].revents != 0 { _ = Glibc.read(bell, &buffer, buffer.count) }
            guard ready[0].revents != 0 else { continue }
            // It fails when the other end is closed everywhere.
            let count = Glibc.read(master, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
            shared.state.withLock { state in
                state.written.write(buffer[..<count])
                if !state.written.isDrawing { state.screen = state.written }
            }
        }
        var end = siginfo_t()
        while waitid(P_PID, id_t(process), &end, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        shared.state.withLock { state in
            var status: Int32 = 0
            waitpid(process, &status, 0)
            state.screen = state.written
            state.exitCode = status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
            _ = settle(&state, program)
        }
    }

    /// Ends the waits that are over, and gives the milliseconds until the next one is; -1 if there is none.
    private static func settle(_ state: inout State, _ program: String) -> Int32 {
        let now = ContinuousClock.now
        var timeout = Int32(-1)
        state.waiters.removeAll { waiter in
            let why: String
            if waiter.condition(state.screen) {
                waiter.continuation.resume(returning: .success(state.screen))
                return true
            } else if let code = state.exitCode {
                why = "\(program) ended with \(code)"
            } else if waiter.deadline <= now {
                why = "\(program) did not show it in time"
            } else {
                let left = (waiter.deadline - now) / .milliseconds(1)
                timeout = min(timeout < 0 ? .max : timeout, Int32(left) + 1)
                return false
            }
            let text = "waited for \(waiter.what): \(why); it shows\n\(state.screen.text)"
            waiter.continuation.resume(returning: .failure(Failure(description: text)))
            return true
        }
        return timeout
    }
}
