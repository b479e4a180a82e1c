import HearthShell

/// A subcommand: its name, its place in the help text, and what it does.
struct Command: Sendable {
    var name: String
    /// Another name for it.
    var alias: String?
    /// What stands after the name on the line.
    var synopsis: String
    var summary: String
    /// More about it: lines of at most 100 characters.
    var details = ""
    var options: [Arguments.Option]
    /// What stands after the options may be a command with its own.
    var handsOn = false
    var run: @Sendable (Arguments) throws(UsageError) -> ExitCode

    /// The name, and the alias if there is one.
    var names: [String] { [name] + (alias.map { [$0] } ?? []) }

    static let all: [Command] =
        [
            serve, shell, initialize,
        ] + shared + [
            backup, restore, check, verify, erase, doctor, health, rules, users, admin,
            cluster,
            console,
            context,
            completion,
            generate,
            bench, echo, version,
        ]

    /// What the command says of itself, unless its results have got lost.
    static func run(_ words: [String]) -> ExitCode {
        let code = perform(words)
        guard code == .success, let failure = StandardOutput.failure else { return code }
        // Whoever reads a pipe no more, such as head, has seen enough.
        if !StandardOutput.isAbandoned { StandardError.write("hearth: \(failure)\n") }
        return .failure
    }

    private static func perform(_ words: [String]) -> ExitCode {
        guard let name = words.first else {
            StandardError.write(overview + "\n")
            return .usage
        }
        let rest = Array(words.dropFirst())
        switch name {
        case "help", "--help", "-h": return help(rest.first)
        case "--version": return perform(["version"])
        default: break
        }
        guard let command = named(name) else { return unknown(name) }
        if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) { return help(name) }
        do throws(UsageError) {
            return try command.run(
                try Arguments(rest, of: command.name, options: command.options, handsOn: command.handsOn))
        } catch {
            let advice = error.hasHelp ? "; 'hearth help \(name)' explains the command" : ""
            return complain(error.message + advice, as: "hearth \(name)")
        }
    }

    private static func help(_ name: String?) -> ExitCode {
        guard let name else {
            StandardOutput.line(overview)
            return .success
        }
        guard let command = named(name) else { return unknown(name) }
        StandardOutput.line(command.help)
        return .success
    }

    private static func named(_ name: String) -> Command? { all.first { $0.names.contains(name) } }

    private static func unknown(_ name: String) -> ExitCode {
        let suggestion = Suggestion.text(for: name, among: all.flatMap(\.names))
        return complain("unknown command '\(name)'\(suggestion); 'hearth help' lists the commands", as: "hearth")
    }

    private static func complain(_ message: String, as name: String) -> ExitCode {
        StandardError.write("\(name): \(message)\n")
        return .usage
    }

    private static var overview: String {
        let width = all.map(\.name.count).max() ?? 0
        let lines = all.map { "  \($0.name.padded(to: width))  \($0.summary)" }
        return """
            hearth: the realtime database you can run at home

            usage: hearth COMMAND [OPTIONS]

            \(lines.joined(separator: "\n"))

            'hearth help COMMAND' explains a command. Options can also be set in the environment: those of
            'serve' and --url, --key, --auth, --ca, --database as HEARTH_NAME, any other one as HEARTH_COMMAND_NAME.
            """
    }

    private var help: String {
        let lines = CommandOption.help(for: options).joined(separator: "\n")
        let paragraphs = ["usage: hearth \(name) \(synopsis)", summary, details, lines]
        return paragraphs.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
