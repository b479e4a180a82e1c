import EventLoop
import Glibc
import HearthShell

/// Runs commands of the shell in this process, with a loop and a session of their own.
struct ShellRun {
    /// The options that say how.
    static let options: [Arguments.Option] = [
        .init(name: "json", letter: "j", value: nil, help: "answers as JSON"),
        .init(name: "dry-run", value: nil, help: "show what would change, and change nothing"),
        .yes,
    ]

    /// Somebody sits at a terminal and can answer questions.
    static var hasTerminal: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

    private let address: ServerAddress
    private let arguments: Arguments
    private let pages: Bool
    private let asks: Bool

    /// - parameters:
    ///   - pages: long output comes page by page.
    ///   - asks: questions are asked, at a terminal. Otherwise they count as answered with no.
    init(_ address: ServerAddress, _ arguments: Arguments, pages: Bool, asks: Bool) {
        (self.address, self.arguments, self.pages, self.asks) = (address, arguments, pages, asks && Self.hasTerminal)
    }

    func callAsFunction(_ body: (Shell) -> Shell.Outcome) throws(UsageError) -> ExitCode {
        let loop: EventLoop
        let shell: Shell
        do throws(SystemError) {
            loop = try EventLoop(name: "shell")
            try loop.start()
            let session = ShellSession(
                .init(address.url, address.credential, on: loop, options: address.options),
                StandardStreams(pages: pages), prompter: asks ? TerminalPrompter() : nil,
                isJSON: arguments.flag("json"), isDry: arguments.flag("dry-run"), isSure: arguments.flag("yes"))
            shell = Shell(session)
            try shell.takeInterrupts(on: loop)
            Signals.ignoreFailedWrites()
        } catch {
            throw UsageError(message: "\(error)")
        }
        let outcome = body(shell)
        loop.shutDown(grace: .seconds(2))
        loop.join()
        return ExitCode(rawValue: outcome.rawValue) ?? .failure
    }
}
