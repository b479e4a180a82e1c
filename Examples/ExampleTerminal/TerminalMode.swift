@preconcurrency import Glibc
import Synchronization

/// How the terminal of this program takes keys. However the program ends, except by SIGKILL, the terminal is given back
/// as it was found.
enum TerminalMode {
    private static let isOn = Atomic(false)
    // Safe because they are written before `isOn` is set, by one caller at a time, and read only after it was found
    // set. As a global variable of its own, `termios` would be given less memory than the system writes into it (Swift
    // 6.3 leaves out the space between its fields).
    nonisolated(unsafe) private static let original = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    nonisolated(unsafe) private static var isFullScreen = false
    /// Where a byte is written whenever the size has changed.
    nonisolated(unsafe) private static var bell: [Int32] = [-1, -1]

    /// Changes the mode until ``leave()``; false if the input is not a terminal.
    static func change(_ change: (inout termios) -> Void) -> Bool {
        guard tcgetattr(STDIN_FILENO, original) == 0 else { return false }
        for number in [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
            signal(number) { number in
                TerminalMode.leave()
                signal(number, SIG_DFL)
                raise(number)
            }
        }
        isOn.store(true, ordering: .releasing)
        var new = original.pointee
        change(&new)
        return tcsetattr(STDIN_FILENO, TCSAFLUSH, &new) == 0
    }

    /// Hands over each key as it comes and echoes nothing, on the screen that leaves the other one as it was; false if
    /// input and output are no terminal.
    fileprivate static func enter() -> Bool {
        guard isatty(STDOUT_FILENO) == 1, bell[0] >= 0 || pipe(&bell) == 0, change({ cfmakeraw(&$0) }) else {
            return false
        }
        isFullScreen = true
        signal(SIGWINCH) { _ in
            let before = errno
            _ = Glibc.write(TerminalMode.bell[1], "!", 1)
            errno = before
        }
        write("\u{1B}[?1049h\u{1B}[?25l")
        return true
    }

    /// Gives the terminal back; any number of times, from any thread and from signal handlers.
    static func leave() {
        guard isOn.exchange(false, ordering: .acquiringAndReleasing) else { return }
        let sequence: StaticString = "\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l"
        if isFullScreen { _ = Glibc.write(STDOUT_FILENO, sequence.utf8Start, sequence.utf8CodeUnitCount) }
        tcsetattr(STDIN_FILENO, TCSAFLUSH, original)
    }

    /// Stops the program until the shell lets it go on. The signal is taken before this returns: threads of the pool,
    /// one of which may run this, block signals otherwise.
    fileprivate static func stop() {
        var (stopping, before) = (sigset_t(), sigset_t())
        sigemptyset(&stopping)
        sigaddset(&stopping, SIGTSTP)
        pthread_sigmask(SIG_UNBLOCK, &stopping, &before)
        raise(SIGTSTP)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }

    fileprivate static var size: Size {
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 && size.ws_row > 0
        return isKnown ? (Int(size.ws_col), Int(size.ws_row)) : (80, 24)
    }

    fileprivate static func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count > 0 { rest.removeFirst(count) } else if count == 0 || errno != EINTR { return }
        }
    }

    /// Reads keys on a thread of its own until the terminal is gone.
    fileprivate static func read(_ post: @escaping @Sendable (Terminal.Event) -> Void) {
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { reader in
                Unmanaged<Reader>.fromOpaque(reader!).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(Reader(post: post)).toOpaque())
        precondition(code == 0, "the system gives no thread")
    }

    private final class Reader: Sendable {
        let post: @Sendable (Terminal.Event) -> Void

        init(post: @escaping @Sendable (Terminal.Event) -> Void) { self.post = post }

        func run() {
            var (decoder, buffer) = (KeyDecoder(), [UInt8](repeating: 0, count: 4096))
            while true {
                var ready = [STDIN_FILENO, bell[0]].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
                poll(&ready, 2, -1)
                if ready[1].revents != 0, Glibc.read(ready[1].fd, &buffer, buffer.count) > 0 { post(.resized) }
                guard ready[0].revents != 0 else { continue }
                let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { return post(.end) }
                for key in decoder.keys(in: buffer[..<count]) { post(.key(key)) }
            }
        }
    }
}

extension Terminal {
    /// The terminal of this program, or nil if input and output are not a terminal. Called once; ``close()`` gives it
    /// back.
    public static func open() -> Terminal? {
        guard TerminalMode.enter() else { return nil }
        let terminal = Terminal(
            size: { TerminalMode.size },
            pause: {
                TerminalMode.leave()
                TerminalMode.stop()
                _ = TerminalMode.enter()
            }, output: TerminalMode.write)
        TerminalMode.read(terminal.post)
        return terminal
    }

    /// Gives the terminal back to the shell.
    public func close() { TerminalMode.leave() }

    /// Reads a line: on a terminal after a prompt and without showing it. Nil at the end of the input.
    nonisolated public static func readSecret(_ prompt: String) -> String? {
        let isHidden = TerminalMode.change { $0.c_lflag &= ~tcflag_t(ECHO) }
        if isHidden { fputs(prompt, stderr) }
        defer { if isHidden { fputs("\n", stderr) } }
        defer { TerminalMode.leave() }
        return readLine()
    }
}
