import Glibc
import Synchronization

/// How the terminal of this program takes keys. However the program ends, except by SIGKILL, the terminal is given back
/// as it was found.
enum TerminalMode {
    private static let isOn = Atomic(false)

    // Safe because all are written before `isOn` is set, by one caller at a time, and read only after it was found set.
    // As a global variable of its own, `termios` would be given less memory than the system writes into it (Swift 6.3
    // leaves out the space between its fields).
    nonisolated(unsafe) private static let original = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    nonisolated(unsafe) private static var isFullScreen = false
    nonisolated(unsafe) private static var bell: Int32 = -1
    nonisolated(unsafe) private static var handlesSignals = false
    /// What was done about signals before, by their numbers.
    nonisolated(unsafe) private static let handlers = UnsafeMutablePointer<sigaction>.allocate(capacity: 32)

    private static let ending = [
        SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV,
    ]

    /// Echoes nothing of what is typed; false if the input is not a terminal.
    static func hideInput() -> Bool {
        guard tcgetattr(STDIN_FILENO, original) == 0 else { return false }
        var hidden = original.pointee
        hidden.c_lflag &= ~tcflag_t(ECHO)
        change(to: &hidden)
        return true
    }

    /// Hands over each key as it comes and echoes nothing, on the screen that leaves the other one as it was. Called
    /// once.
    ///
    /// - returns: a pipe that gives a byte whenever the size has changed; nil if input and output are no terminal.
    static func enter() -> Int32? {
        var ends: [Int32] = [-1, -1]
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, original) == 0,
            pipe(&ends) == 0
        else { return nil }
        bell = ends[1]
        isFullScreen = true
        handle(SIGWINCH) { _ in
            let before = errno
            var byte: UInt8 = 0
            _ = Glibc.write(TerminalMode.bell, &byte, 1)
            errno = before
        }
        var raw = original.pointee
        cfmakeraw(&raw)
        change(to: &raw)
        write("\u{1B}[?1049h\u{1B}[?25l")
        return ends[0]
    }

    private static func change(to settings: inout termios) {
        // Once: the second time, what was there before would be this.
        if !handlesSignals {
            for number in ending {
                handle(number) { number in
                    TerminalMode.leave()
                    // The handler that was there before ends the program when this one returns.
                    sigaction(number, &TerminalMode.handlers[Int(number)], nil)
                    raise(number)
                }
            }
            handlesSignals = true
        }
        isOn.store(true, ordering: .releasing)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }

    private static func handle(_ number: Int32, with handler: @escaping @convention(c) (Int32) -> Void) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = handler
        action.sa_flags = SA_RESTART
        sigaction(number, &action, &handlers[Int(number)])
    }

    /// Gives the terminal back; any number of times, from any thread and from signal handlers.
    static func leave() {
        guard isOn.exchange(false, ordering: .acquiringAndReleasing) else { return }
        if isFullScreen {
            let sequence: StaticString = "\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l"
            _ = Glibc.write(STDOUT_FILENO, sequence.utf8Start, sequence.utf8CodeUnitCount)
        }
        tcsetattr(STDIN_FILENO, TCSAFLUSH, original)
    }

    /// The size of the terminal; 80 by 24 if it has none.
    static var size: Size {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return Size(columns: 80, rows: 24)
        }
        return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    static func write(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(STDOUT_FILENO, rest.baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }
}

/// Threads for calls that block.
enum Thread {
    private final class Body {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs the body on a thread of its own.
    static func start(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let body = Unmanaged.passRetained(Body(body))
        let code = pthread_create(
            &thread, nil,
            { body in
                Unmanaged<Body>.fromOpaque(body!).takeRetainedValue().run()
                return nil
            }, body.toOpaque())
        precondition(code == 0, "the system gives no thread")
        pthread_detach(thread)
    }
}
