import Glibc
import HearthShell

extension Command {
    static let shell = Command(
        name: "shell", synopsis: "[URL] [COMMAND...] [OPTIONS]",
        summary: "Look at a server and change its data, at a prompt or by a script.",
        json: "as each of its commands prints.",
        details: """
            URL is that of the server where it answers administrators: the admin listener, or in development mode the only one
            (default: that of --key, or \(ServerAddress.usual)). --key FILE is a key of 'hearth admin create-key'; in development mode
            none is needed.

            Words after the URL are one command, as are those of -c; without any, commands are read from standard input, one per
            line: at a prompt with history and completion if that is a terminal. 'help' explains the commands.

            A script ends with its first command that fails. The exit codes are those of other commands: 1 when a command
            failed, 64 when it was not valid, 69 when the server was not reached, 130 when ^C ended it half-way.
            """,
        options: ServerAddress.options + [
            .init(name: "command", letter: "c", value: "LINE", help: "run this line"),
            .init(name: "file", value: "FILE", help: "run the lines of a file"),
            .init(name: "history", value: "FILE", help: "what was typed (default ~/.hearth_history)"),
        ] + Arguments.Option.common,
        handsOn: true
    ) { arguments throws(UsageError) in
        var words = arguments.positional
        let line = arguments["command"]
        let address = try ServerAddress(arguments, takingURLFrom: &words)
        guard [line != nil, arguments["file"] != nil, !words.isEmpty].count(where: { $0 }) <= 1 else {
            throw UsageError(message: "one of -c LINE, --file FILE and a command")
        }
        let script = try arguments["file"].map { (path) throws(UsageError) in
            let text = try UsageError.of { () throws(ShellError) in try InputFile.contents(of: path) }
            return String(decoding: text, as: UTF8.self).lines
        }
        let readsCommands = line == nil && script == nil && words.isEmpty
        let isInteractive = readsCommands && ShellRun.hasTerminal
        let run = ShellRun(address, arguments, isInteractive: isInteractive, readsInput: !readsCommands)
        return try run { shell in
            if let line { return shell.run(line: line) }
            if let script { return shell.run(script: AnySequence(script), name: arguments["file"] ?? "") }
            if !words.isEmpty { return shell.run(words.map { Word($0) }) }
            if isInteractive { return shell.interact(history: arguments["history"] ?? defaultHistory) }
            return shell.run(script: AnySequence { AnyIterator { readLine() } }, name: "standard input")
        }
    }

    private static var defaultHistory: String? {
        getenv("HOME").map { String(cString: $0) + "/.hearth_history" }
    }
}
