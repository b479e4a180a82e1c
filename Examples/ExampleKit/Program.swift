@preconcurrency import Glibc

/// A program with commands, and a live screen when it is called without one.
public struct Program: Sendable {
    /// What one word of the command line does.
    public struct Command: Sendable {
        let name: String
        let parameters: [String]
        let summary: String
        let run: @MainActor (Call) async throws -> Void

        /// - parameter synopsis: the command and its parameters in capital letters, those that may be left out in
        ///   brackets: `add NOTEBOOK TEXT [DATE]`.
        public init(_ synopsis: String, _ summary: String, run: @escaping @MainActor (Call) async throws -> Void) {
            let words = synopsis.split(separator: " ").map(String.init)
            name = words[0]
            parameters = Array(words.dropFirst())
            self.summary = summary
            self.run = run
        }

        var synopsis: String { ([name] + parameters).joined(separator: " ") }
        var needed: Int { parameters.count { !$0.hasPrefix("[") } }
    }

    /// An option with a value.
    public struct Option: Sendable {
        let name: String
        let value: String
        let summary: String
        let usual: String?

        /// - parameter value: the word for the value in the help text.
        /// - parameter usual: the value when it is not named.
        public init(_ name: String, _ value: String, _ summary: String, usual: String? = nil) {
            (self.name, self.value, self.summary, self.usual) = (name, value, summary, usual)
        }
    }

    let name: String
    let summary: String
    let options: [Option]
    let commands: [Command]
    let screen: @MainActor (Call, Terminal) async throws -> Void

    /// - parameter server: where the server usually is.
    /// - parameter options: besides `--server`, `--session` and `--help`, which all have.
    /// - parameter screen: what it does on a terminal when it is called without a command.
    public init(
        _ name: String, _ summary: String, server: String = "http://127.0.0.1:9000", options: [Option] = [],
        commands: [Command],
        screen: @escaping @MainActor (Call, Terminal) async throws -> Void
    ) {
        self.name = name
        self.summary = summary
        self.options =
            [
                Option("server", "URL", "the server", usual: server),
                Option("session", "FILE", "where to stay signed in between runs", usual: Self.usualSession(name)),
            ] + options
        self.commands = commands
        self.screen = screen
    }

    private static func usualSession(_ name: String) -> String {
        let state = getenv("XDG_STATE_HOME").map { String(cString: $0) }
        let home = getenv("HOME").map { String(cString: $0) + "/.local/state" }
        return "\(state ?? home ?? ".")/\(name).session"
    }

    /// Does what the command line says and ends the process: with 0, 1 if something did not work, or 2 if the command
    /// line makes no sense.
    @MainActor
    public func run() async -> Never {
        // What is printed is seen at once, also in a pipe.
        setvbuf(stdout, nil, _IOLBF, 0)
        let code = await run(Array(CommandLine.arguments.dropFirst()))
        exit(code)
    }

    @MainActor
    private func run(_ words: [String]) async -> Int32 {
        let call: Call?
        do throws(Problem) { call = try Call(words, self) } catch {
            complain("\(error)")
            fputs("\(name) --help explains.\n", stderr)
            return 2
        }
        guard let call else {
            print(help)
            return 0
        }
        do {
            if let command = call.command {
                try await command.run(call)
            } else {
                guard let terminal = Terminal.open() else {
                    complain("the screen needs a terminal; \(name) --help has commands for scripts.")
                    return 2
                }
                defer { terminal.close() }
                try await screen(call, terminal)
            }
            return 0
        } catch is Quit {
            return 0
        } catch {
            complain(Problem.text(of: error))
            return 1
        }
    }

    /// Prints what is wrong, which may have words of others in it.
    private func complain(_ text: String) { fputs(Line("\(name): \(text)").text + "\n", stderr) }

    private var help: String {
        func table(_ rows: [(String, String)]) -> String {
            let width = rows.map(\.0.columns).max() ?? 0
            return rows.map { "  \($0)\(String(repeating: " ", count: width - $0.columns + 2))\($1)" }
                .joined(separator: "\n")
        }
        let options =
            options.map { option in
                ("--\(option.name) \(option.value)", option.summary + (option.usual.map { " (default \($0))" } ?? ""))
            } + [("--help", "print this")]
        return """
            usage: \(name) [OPTIONS] [COMMAND ...]

            \(summary) Without a command it shows a live screen.

            Commands
            \(table(commands.map { ($0.synopsis, $0.summary) }))

            Options
            \(table(options))
            """
    }
}

/// A program as it was called.
public struct Call: Sendable {
    private var values: [String: String] = [:]
    let command: Program.Command?

    /// Nil if help was asked for.
    init?(_ words: [String], _ program: Program) throws(Problem) {
        var positional: [String] = []
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--help" { return nil }
            guard word.hasPrefix("--") else {
                positional.append(word)
                continue
            }
            if word == "--" {
                positional += rest
                break
            }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let option = program.options.first(where: { $0.name == parts[0] }) else {
                throw Problem("there is no option --\(parts[0])")
            }
            guard let value = parts.count > 1 ? String(parts[1]) : rest.popFirst() else {
                throw Problem("--\(option.name) needs a value")
            }
            values[option.name] = value
        }
        for option in program.options where values[option.name] == nil { values[option.name] = option.usual }
        guard let name = positional.first else {
            command = nil
            return
        }
        guard let command = program.commands.first(where: { $0.name == name }) else {
            throw Problem("there is no command '\(name)'")
        }
        let given = positional.dropFirst()
        guard (command.needed...command.parameters.count).contains(given.count) else {
            throw Problem("the command is: \(command.synopsis)")
        }
        for (parameter, value) in zip(command.parameters, given) {
            values[parameter.filter { $0 != "[" && $0 != "]" }] = value
        }
        self.command = command
    }

    /// The value of an option by its name, or of a parameter by its name in capital letters.
    public subscript(name: String) -> String? { values[name] }

    /// The value of a parameter that cannot be left out.
    public func required(_ name: String) -> String { values[name] ?? "" }

    /// The server's URL.
    public var server: String { required("server") }

    /// The file of the session. Its folder is made if there is none.
    public var sessionFile: String {
        let file = required("session")
        var folder = ""
        for part in file.split(separator: "/", omittingEmptySubsequences: false).dropLast() {
            folder += part + "/"
            // What cannot be made, or is there, shows when the file is used.
            mkdir(folder, 0o700)
        }
        return file
    }

    /// Asks for a password: on a terminal without showing it, otherwise it is the next line of the input.
    public func askPassword(_ prompt: String = "Password: ") throws(Problem) -> String {
        let isHidden = TerminalMode.hideInput()
        if isHidden { fputs(prompt, stderr) }
        let line = readLine()
        if isHidden {
            TerminalMode.leave()
            fputs("\n", stderr)
        }
        guard let line else { throw Problem("a password is needed, at the terminal or as a line of the input") }
        return line
    }
}
