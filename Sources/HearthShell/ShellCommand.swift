/// A command of the shell. The program has most of them, too.
package struct ShellCommand: CommandEntry {
    /// The kinds of the words after it, for completion.
    enum Words: Sendable {
        case none
        /// All are paths.
        case paths
        /// The first one is a path.
        case path
        /// `read` or `write`, and a path.
        case operation
        /// The first one is a command.
        case commands
        /// The first one is a database of the server.
        case databases
    }

    package var name: String
    /// Another name for it.
    package var alias: String?
    package var parent: String?
    package var synopsis = ""
    package var summary: String
    package var json = ""
    package var details = ""
    var words = Words.none
    package var options: [CommandOption] = []
    package var subcommands: [ShellCommand] = []
    package var usual: String?
    /// The words after it are a command's, with its options.
    var takesCommand = false
    /// Whether it is a command of the program, too, with the same words and options: `hearth ls`.
    package var runsAlone = false
    /// Whether a URL before the words replaces PATH, the first of them: `hearth export ws://127.0.0.1:9000/a FILE`.
    package var urlIsPath = false
    var run: @Sendable (ShellSession, ShellArguments) async throws(ShellError) -> Void

    package static let all: [ShellCommand] = [
        ls, cd, pwd, get, tree, query, find, count, watch, history, diff, revert, set, update, push, remove, mv, cp,
        jobs,
        importing,
        export,
        rules,
        users, triggers, sessions, stats, ping, top, profile, databases, use, backup, logs, `as`, dry, help, exit,
    ]

    static func named(_ name: String) -> ShellCommand? {
        all.first { $0.names.contains(name) }
    }

    /// The names of the options whose values are secrets.
    static let secretOptions = Set(all.flatMap(\.allOptions).filter(\.isSecret).map(\.name))

    /// A command with subcommands, which is one of the program, too.
    ///
    /// - parameters:
    ///   - options: those that all subcommands have.
    ///   - usual: the subcommand of a line that names none.
    static func group(
        _ name: String, summary: String, details: String = "", options: [CommandOption] = [], usual: String? = nil,
        _ subcommands: [ShellCommand]
    ) -> ShellCommand {
        let subcommands = subcommands.map { $0.adopted(by: name, options: options) }
        return ShellCommand(
            name: name, summary: summary, details: details, options: options, subcommands: subcommands, usual: usual,
            runsAlone: true
        ) { (_, arguments) throws(ShellError) in throw arguments.misused("a subcommand is missing") }
    }
}

extension ShellCommand {
    /// The command that the words after the name are for, and they as its arguments.
    func call(_ words: [Word]) throws(ShellError) -> (command: ShellCommand, arguments: ShellArguments) {
        if takesCommand { return (self, ShellArguments(of: self, words)) }
        let (entry, rest) = try entry(for: words, common: CommandOption.common)
        do throws(ShellError) {
            let words = try CommandWords(rest, options: CommandOption.joined(entry.options, CommandOption.common))
            return (entry, ShellArguments(of: entry, words.arguments, options: words.options))
        } catch {
            throw ShellArguments(of: entry).misused(error.message ?? "")
        }
    }

    static func suggestion(for name: String) -> String { Suggestion.text(for: name, among: all.flatMap(\.names)) }
}

extension ShellSession {
    /// Runs one command.
    package func run(_ words: [Word]) async throws(ShellError) {
        guard let name = words.first?.text else { return }
        guard let command = ShellCommand.named(name) else {
            let isAddress = name.contains(":") && !name.contains("/")
            if isAddress { throw .usage("there is no command '\(name)'; the URL of a server is like ws://\(name)") }
            if programCommands.contains(name) {
                throw .usage("'\(name)' is a command of the program, not of the shell: see 'hearth help \(name)'")
            }
            throw .usage("there is no command '\(name)'\(ShellCommand.suggestion(for: name)); 'help' lists them")
        }
        let rest = Array(words.dropFirst())
        if !command.takesCommand, ShellCommand.asksForHelp(rest) {
            return try showHelp(of: command.explained(by: rest))
        }
        let (called, arguments) = try command.call(rest)
        try await run(called, arguments)
    }

    /// Runs one command, as its options say.
    func run(_ command: ShellCommand, _ arguments: ShellArguments) async throws(ShellError) {
        let before = (format, isDry, isSure)
        defer { (format, isDry, isSure) = before }
        format = try OutputFormat(arguments["output"], isJSON: arguments.has("json")) ?? format
        isDry = isDry || arguments.has("dry-run")
        isSure = isSure || arguments.has("yes")
        try await noticingLoss { () async throws(ShellError) in try await command.run(self, arguments) }
    }
}
