import EventLoop
import Glibc
import HearthClient
import HearthShell

extension Command {
    static let shell = Command(
        name: "shell", synopsis: "[URL] [COMMAND...] [OPTIONS]",
        summary: "Look at a server and change its data, at a prompt or by a script.",
        details: """
            URL is that of the server where it answers administrators: the admin listener, or in development mode the only one
            (default: that of --key, or \(ServerAddress.usual)). --key FILE is a key of 'hearth admin create-key'; in development mode
            none is needed.

            Words behind the URL are one command, as are those of -c; without any, commands are read from standard input, one per
            line: at a prompt with history and completion if that is a terminal. 'help' explains the commands.

            A script ends with its first command that fails. The command ends with 0, with 1 when a command failed, with 2 when
            it was not written as it must be, with 130 when ^C ended it half-way.
            """,
        options: ServerAddress.options.filter { $0.name != "url" } + [
            .init(name: "command", value: "LINE", help: "run this line; also as -c LINE"),
            .init(name: "file", value: "FILE", help: "run the lines of a file"),
            .init(name: "json", value: nil, help: "answers as JSON"),
            .init(name: "dry-run", value: nil, help: "show what would change, and change nothing"),
            .init(name: "yes", value: nil, help: "do not ask before large deletes"),
            .init(name: "history", value: "FILE", help: "what was typed (default ~/.hearth_history)"),
        ],
        handsOn: true
    ) { arguments throws(UsageError) in
        var words = arguments.positional
        var line = arguments["command"]
        if let place = words.firstIndex(of: "-c") {
            guard place + 1 < words.count else { throw UsageError(message: "-c needs a line") }
            line = words[place + 1]
            words.removeSubrange(place...place + 1)
        }
        let url = words.first.flatMap { $0.contains("://") ? $0 : nil }
        if url != nil { words.removeFirst() }
        let address = if let url { try ServerAddress(arguments, at: url) } else { try ServerAddress(arguments) }
        guard [line != nil, arguments["file"] != nil, !words.isEmpty].count(where: { $0 }) <= 1 else {
            throw UsageError(message: "one of -c LINE, --file FILE and a command")
        }
        let script = try arguments["file"].map { (path) throws(UsageError) in try InputText(contentsOf: path).lines }
        return try run(address, arguments, line, script, words)
    }

    private static func run(
        _ address: ServerAddress, _ arguments: Arguments, _ line: String?, _ script: [String]?, _ words: [String]
    ) throws(UsageError) -> ExitCode {
        let loop: EventLoop
        let isInteractive =
            line == nil && script == nil && words.isEmpty && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1
        let shell: Shell
        do throws(SystemError) {
            loop = try EventLoop(name: "shell")
            try loop.start()
            let session = ShellSession(
                .init(address.url, address.credential, on: loop, options: address.options),
                StandardStreams(pages: isInteractive),
                prompter: isInteractive ? TerminalPrompter() : nil, isJSON: arguments.flag("json"),
                isDry: arguments.flag("dry-run"), isSure: arguments.flag("yes"))
            shell = Shell(session)
            try shell.takeInterrupts(on: loop)
            Signals.ignoreFailedWrites()
        } catch {
            throw UsageError(message: "\(error)")
        }
        let outcome: Shell.Outcome
        if let line {
            outcome = shell.run(line: line)
        } else if let script {
            outcome = shell.run(script: AnySequence(script), name: arguments["file"] ?? "")
        } else if !words.isEmpty {
            outcome = shell.run(words.map { Word($0) })
        } else if isInteractive {
            outcome = shell.interact(history: arguments["history"] ?? defaultHistory)
        } else {
            outcome = shell.run(script: AnySequence { AnyIterator { readLine() } }, name: "standard input")
        }
        loop.shutDown(grace: .seconds(2))
        loop.join()
        return switch outcome {
        case .success: .success
        case .failure: .failure
        case .usage: .shellUsage
        case .interrupted: .interrupted
        }
    }

    private static var defaultHistory: String? {
        getenv("HOME").map { String(cString: $0) + "/.hearth_history" }
    }
}
