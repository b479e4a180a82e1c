import HearthEventLoop
import Glibc
import HearthServer
import HearthShell
import HearthSystem

/// Runs commands of the shell in this process, with a loop and a session of their own.
struct ShellRun {
    /// Somebody sits at a terminal and can answer questions.
    static var hasTerminal: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

    private let address: ServerAddress
    private let arguments: Arguments
    /// The command that runs alone; nil for a shell.
    private let program: String?
    private let isInteractive: Bool
    private let readsInput: Bool

    /// One command of the program.
    init(_ address: ServerAddress, _ arguments: Arguments, program: String) {
        (self.address, self.arguments, self.program) = (address, arguments, program)
        (isInteractive, readsInput) = (false, true)
    }

    /// A shell.
    ///
    /// - parameters:
    ///   - isInteractive: commands come from a terminal.
    ///   - readsInput: they do not come from standard input.
    init(_ address: ServerAddress, _ arguments: Arguments, isInteractive: Bool, readsInput: Bool) {
        (self.address, self.arguments, program) = (address, arguments, nil)
        (self.isInteractive, self.readsInput) = (isInteractive, readsInput)
    }

    /// Values that a program gets are as the server has them.
    private var format: OutputFormat {
        get throws(UsageError) {
            let format = try UsageError.of { () throws(ShellError) in
                try OutputFormat(arguments["output"], isJSON: arguments.flag("json"))
            }
            return format ?? (program != nil && isatty(STDOUT_FILENO) == 0 ? .raw : .text)
        }
    }

    func callAsFunction(_ body: (Shell) -> Shell.Outcome) throws(UsageError) -> ExitCode {
        let format = try format
        let loop: EventLoop
        // A loop that waits for somebody to read a pipe does not see signals.
        let signals: EventLoop
        let shell: Shell
        do throws(SystemError) {
            loop = try EventLoop(name: "shell")
            try loop.start()
            signals = try EventLoop(name: "signals")
            try signals.start()
            let streams = StandardStreams(pages: isInteractive)
            let asks = (isInteractive || readsInput) && Self.hasTerminal
            let session = ShellSession(
                .init(address.url, address.credential, on: loop, options: address.options),
                streams, prompter: asks ? TerminalPrompter() : nil, format: format,
                isDry: arguments.flag("dry-run"), isSure: arguments.flag("yes"), program: program,
                programCommands: Set(Command.all.flatMap(\.names)), readsInput: readsInput,
                clock: { "\(Timestamp(milliseconds: WallClock.milliseconds))" })
            shell = Shell(session)
            streams.onAbandoned { [shell] in shell.end(.failure) }
            try Signals.forward(isInteractive ? [SIGINT] : [SIGINT, SIGTERM], to: signals) {
                [shell, isInteractive] signal in
                let outcome: Shell.Outcome = signal == SIGTERM ? .terminated : .interrupted
                shell.end(outcome)
                if !isInteractive { Self.exit(outcome) }
            }
            Signals.ignoreFailedWrites()
        } catch {
            throw UsageError(message: "\(error)")
        }
        let outcome = body(shell)
        for loop in [loop, signals] {
            loop.shutDown(grace: .seconds(2))
            loop.join()
        }
        return ExitCode(rawValue: outcome.rawValue) ?? .failure
    }

    /// The last work of an interrupted command must not take longer.
    private static let patience: UInt32 = 5

    /// Ends the process later if it has not ended: a write to a pipe without a reader cannot be cancelled.
    private static func exit(_ outcome: Shell.Outcome) {
        _ = try? NamedThread(name: "exit") {
            sleep(patience)
            _exit(outcome.rawValue)
        }
    }
}
