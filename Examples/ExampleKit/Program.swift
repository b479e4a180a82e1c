@preconcurrency import Glibc
public import HearthExampleTerminal

/// A program with commands and a live screen when it is called without one, or one that does a single thing.
public struct Program: Sendable {
    /// What one word of the command line does.
    public struct Command: Sendable {
        let words: [String]
        let summary: String
        let run: @MainActor (Call) async throws -> Void

        /// - parameter synopsis: the command and its parameters in capital letters, those that may be left out in
        ///   brackets: `add NOTEBOOK TEXT [DATE]`.
        public init(_ synopsis: String, _ summary: String, run: @escaping @MainActor (Call) async throws -> Void) {
            words = synopsis.split(separator: " ").map(String.init)
            (self.summary, self.run) = (summary, run)
        }

        var synopsis: String { words.joined(separator: " ") }
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
    /// Nil for a program that does a single thing, which is its only command then.
    let screen: (@MainActor (Call, Terminal) async throws -> Void)?

    /// - parameter server: where the server usually is.
    /// - parameter options: besides `--server`, `--session` and `--help`, which all have.
    /// - parameter screen: what it does on a terminal when it is called without a command.
    public init(
        _ name: String, _ summary: String, server: String = "http://127.0.0.1:9000", options: [Option] = [],
        commands: [Command], screen: @escaping @MainActor (Call, Terminal) async throws -> Void
    ) {
        let state = getenv("XDG_STATE_HOME").map { String(cString: $0) }
        let home = getenv("HOME").map { String(cString: $0) + "/.local/state" }
        let session = "\(state ?? home ?? ".")/\(name).session"
        (self.name, self.summary, self.commands, self.screen) = (name, summary, commands, screen)
        self.options =
            [
                Option("server", "URL", "the server", usual: server),
                Option("session", "FILE", "where to stay signed in between runs", usual: session),
            ] + options
    }

    /// A program that does a single thing.
    ///
    /// - parameter command: its synopsis begins with the program's name.
    /// - parameter options: besides `--help`.
    public init(_ command: Command, options: [Option]) {
        (name, summary, commands) = (command.words[0], command.summary, [command])
        (self.options, screen) = (options, nil)
    }

    /// Does what the command line says and ends the process: with 0, 1 if something did not work, or 2 if the command
    /// line makes no sense.
    @MainActor
    public func run() async -> Never {
        // Output is visible at once, also in a pipe.
        setvbuf(stdout, nil, _IOLBF, 0)
        do { try await run(try Call(Array(CommandLine.arguments.dropFirst()), self)) } catch is Quit {} catch {
            complain("\(name): \(Problem.text(of: error))")
            if error is WrongCall { complain("\(name) --help explains.") }
            exit(error is WrongCall ? 2 : 1)
        }
        exit(0)
    }

    @MainActor
    private func run(_ call: Call?) async throws {
        guard let call else { return print(help) }
        if let command = call.command { return try await command.run(call) }
        guard let terminal = Terminal.open() else {
            throw WrongCall("the screen needs a terminal; there are commands for scripts")
        }
        defer { terminal.close() }
        try await screen?(call, terminal)
    }

    private var help: String {
        func table(_ rows: [(String, String)]) -> String {
            let width = rows.map { Line($0.0).width }.max() ?? 0
            return rows.map { "  \($0.padded(to: width))  \($1)" }.joined(separator: "\n")
        }
        let rows = options.map {
            ("--\($0.name) \($0.value)", $0.summary + ($0.usual.map { " (default \($0))" } ?? ""))
        }
        let list = "Options\n\(table(rows + [("--help", "print this")]))"
        guard screen != nil else { return "usage: \(commands[0].synopsis) [OPTIONS]\n\n\(summary)\n\n\(list)" }
        let verbs = table(commands.map { ($0.synopsis, $0.summary) })
        return """
            usage: \(name) [OPTIONS] [COMMAND ...]

            \(summary) Without a command it shows a live screen.

            Commands
            \(verbs)

            \(list)
            """
    }
}

/// A command line that makes no sense: the program ends with 2.
public struct WrongCall: Error, Hashable, Sendable, CustomStringConvertible {
    /// The mistake.
    public let description: String

    /// A reason.
    public init(_ description: String) { self.description = description }
}

/// A program as it was called.
public struct Call: Sendable {
    private var values: [String: String] = [:]
    private(set) var command: Program.Command?

    /// Nil if help was asked for.
    init?(_ words: [String], _ program: Program) throws(WrongCall) {
        for option in program.options { values[option.name] = option.usual }
        var given = program.screen == nil ? [program.name] : []
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--help" { return nil }
            if word == "--" {
                given += rest
                break
            }
            guard word.hasPrefix("--") else {
                given.append(word)
                continue
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
        guard let name = given.first else { return }
        command = program.commands.first { $0.words[0] == name }
        guard let command else { throw WrongCall("there is no command '\(name)'") }
        guard (command.words.count { !$0.hasPrefix("[") }...command.words.count).contains(given.count) else {
            throw WrongCall("the command is: \(command.synopsis)")
        }
        for (parameter, value) in zip(command.words, given).dropFirst() {
            values[parameter.filter { $0 != "[" && $0 != "]" }] = value
        }
    }

    /// The value of an option by its name, or of a parameter by its name in capital letters.
    public subscript(name: String) -> String? { values[name] }

    /// The value of a parameter that cannot be left out.
    public func required(_ name: String) -> String { values[name] ?? "" }

    /// The server's URL.
    public var server: String { required("server") }

    /// The file of the session. Its folder is created if necessary.
    public var sessionFile: String {
        let file = required("session")
        // What cannot be made, or is there, shows when the file is used.
        for index in file.indices.dropFirst() where file[index] == "/" { mkdir(String(file[..<index]), 0o700) }
        return file
    }

    /// Asks for a password: on a terminal without showing it, otherwise it is the next line of the input.
    public func askPassword(_ prompt: String = "Password: ") throws(Problem) -> String {
        if let line = Terminal.readSecret(prompt) { return line }
        throw Problem("a password is needed, at the terminal or as a line of the input")
    }

    /// The item whose number a parameter gives, as they were said.
    ///
    /// - parameter what: what items are called.
    public func item<Item>(
        numbered parameter: String = "NUMBER", of items: [Item], _ what: String
    ) throws(Problem) -> Item {
        guard let number = Int(required(parameter)), number > 0, number <= items.count else {
            throw Problem("there is no \(what) \(required(parameter))")
        }
        return items[number - 1]
    }

    /// The item of which a parameter gives the name, or the id. A name that several have does not count; small and
    /// capital letters are the same where that is clear.
    ///
    /// - parameter what: what items are called.
    public func item<Item: Identifiable>(
        named parameter: String, of items: [Item], _ what: String, by name: (Item) -> String
    ) throws(Problem) -> Item where Item.ID == String {
        let wanted = required(parameter)
        if let item = items.first(where: { $0.id == wanted }) { return item }
        var found = items.filter { name($0) == wanted }
        if found.isEmpty { found = items.filter { name($0).lowercased() == wanted.lowercased() } }
        guard let item = found.first else { throw Problem("there is no \(what) '\(wanted)'") }
        if found.count == 1 { return item }
        let ids = found.map(\.id).joined(separator: ", ")
        throw Problem("there are \(found.count) \(what)s '\(wanted)'; say which one: \(ids)")
    }
}
