/// A command of the shell.
struct ShellCommand: Sendable {
    /// What the words behind it are, for completion.
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
    }

    var name: String
    var synopsis = ""
    var summary: String
    var details = ""
    var words = Words.none
    var options: ShellArguments.Options = [:]
    /// The words behind it are a command's, with its options.
    var takesCommand = false
    var run: @Sendable (ShellSession, ShellArguments) async throws(ShellError) -> Void

    var usage: String { synopsis.isEmpty ? name : "\(name) \(synopsis)" }

    static let all: [ShellCommand] = [
        ls, cd, pwd, get, tree, query, count, watch, history, set, update, push, rm, mv, cp, importing, export, rules,
        users, sessions, stats, profile, databases, backup, log, `as`, dry, help, exit,
    ]

    static func named(_ name: String) -> ShellCommand? {
        all.first { $0.name == name } ?? (name == "quit" ? exit : nil)
    }
}

extension ShellCommand {
    static func suggestion(for name: String) -> String { Suggestion.text(for: name, among: all.map(\.name)) }
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
        try await noticingLoss { () async throws(ShellError) in
            try await command.run(self, try ShellArguments(command, Array(words.dropFirst())))
        }
    }
}
