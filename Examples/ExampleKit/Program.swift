@preconcurrency import Glibc

/// A program with commands and a live screen when it is called without one, or one that does a single thing.
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

        /// `--server`.
        public static func server(_ summary: String, usual: String = "http://127.0.0.1:9000") -> Option {
            Option("server", "URL", summary, usual: usual)
        }
    }

    let name: String
    let summary: String
    let options: [Option]
    let commands: [Command]
    /// Nil for a program that does a single thing, which is its only command then.
    let screen: (@MainActor (Call, Terminal) async throws -> Void)?

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
                .server("the server", usual: server),
                Option("session", "FILE", "where to stay signed in between runs", usual: Self.usualSession(name)),
            ] + options
        self.commands = commands
        self.screen = screen
    }

    /// A program that does a single thing.
    ///
    /// - parameter command: its synopsis begins with the program's name.
    /// - parameter options: besides `--help`.
    public init(_ command: Command, options: [Option]) {
        (name, summary, commands) = (command.name, command.summary, [command])
        self.options = options
        screen = nil
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
        do {
            guard let call = try Call(words, self) else {
                print(help)
                return 0
            }
            if let command = call.command {
                try await command.run(call)
            } else if let screen {
                guard let terminal = Terminal.open() else {
                    throw WrongCall("the screen needs a terminal; there are commands for scripts")
                }
                defer { terminal.close() }
                try await screen(call, terminal)
            }
            return 0
        } catch is Quit {
            return 0
        } catch {
            complain("\(name): \(Problem.text(of: error))")
            guard error is WrongCall else { return 1 }
            complain("\(name) --help explains.")
            return 2
        }
    }

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
        let list = """
            Options
            \(table(options))
            """
        if screen == nil { return "usage: \(commands[0].synopsis) [OPTIONS]\n\n\(summary)\n\n\(list)" }
        return """
            usage: \(name) [OPTIONS] [COMMAND ...]

            \(summary) Without a command it shows a live screen.

            Commands
            \(table(commands.map { ($0.synopsis, $0.summary) }))

            \(list)
            """
    }
}

/// A command line that makes no sense: the program ends with 2.
public struct WrongCall: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with it.
    public var description: String

    /// What is wrong with it.
    public init(_ description: String) { self.description = description }
}

/// A program as it was called.
public struct Call: Sendable {
    private var values: [String: String] = [:]
    let command: Program.Command?

    /// Nil if help was asked for.
    init?(_ words: [String], _ program: Program) throws(WrongCall) {
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
                throw WrongCall("there is no option --\(parts[0])")
            }
            guard let value = parts.count > 1 ? String(parts[1]) : rest.popFirst() else {
                throw WrongCall("--\(option.name) needs a value")
            }
            values[option.name] = value
        }
        for option in program.options where values[option.name] == nil { values[option.name] = option.usual }
        if program.screen == nil { positional.insert(program.name, at: 0) }
        guard let name = positional.first else {
            command = nil
            return
        }
        guard let command = program.commands.first(where: { $0.name == name }) else {
            throw WrongCall("there is no command '\(name)'")
        }
        let given = positional.dropFirst()
        guard (command.needed...command.parameters.count).contains(given.count) else {
            throw WrongCall("the command is: \(command.synopsis)")
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
