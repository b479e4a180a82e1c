/// A command of the shell. The program has most of them, too.
package struct ShellCommand: Sendable {
    /// What the words after it are, for completion.
    enum Words: Sendable {
        case none
        /// All are paths.
        case paths
        /// The first one is a path.
        case path
        /// The first one is one of these, the others paths if it takes any.
        case subcommands([String])
        case files
        /// The first one is a command.
        case commands
        /// The first one is a database of the server.
        case databases
    }

    package var name: String
    /// Another name for it.
    package var alias: String?
    /// The name, and the alias if there is one.
    var names: [String] { [name] + (alias.map { [$0] } ?? []) }
    package var synopsis = ""
    package var summary: String
    package var details = ""
    var words = Words.none
    package var options: [CommandOption] = []
    /// The words after it are a command's, with its options.
    var takesCommand = false
    /// Whether it is a command of the program, too, with the same words and options: `hearth ls`.
    package var runsAlone = false
    /// Whether a URL before the words stands for PATH, the first of them: `hearth export ws://127.0.0.1:9000/a FILE`.
    package var urlIsPath = false
    var run: @Sendable (ShellSession, ShellArguments) async throws(ShellError) -> Void

    var usage: String { synopsis.isEmpty ? name : "\(name) \(synopsis)" }

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
}

extension ShellCommand {
    static func suggestion(for name: String) -> String { Suggestion.text(for: name, among: all.flatMap(\.names)) }
}

extension ShellSession {
    /// Runs one command.
    package func run(_ words: [Word]) async throws(ShellError) {
        guard let name = words.first?.text else { return }
        guard let command = ShellCommand.named(name) else {
            let isAddress = name.contains(":") && !name.contains("/")
            throw .usage(
                isAddress
                    ? "there is no command '\(name)'; the URL of a server is like ws://\(name)"
                    : "there is no command '\(name)'\(ShellCommand.suggestion(for: name)); 'help' lists them")
        }
        try await run(try ShellArguments(command, Array(words.dropFirst())))
    }

    /// Runs one command.
    func run(_ arguments: ShellArguments) async throws(ShellError) {
        try await noticingLoss { () async throws(ShellError) in try await arguments.command.run(self, arguments) }
    }
}
