import HearthShell

/// A command of the program: its name, its place in the help text, and its work.
struct Command: CommandEntry {
    var name: String
    /// Another name for it.
    var alias: String?
    var parent: String?
    /// The synopsis after the name.
    var synopsis: String
    var summary: String
    var json = ""
    /// More about it: lines of at most 100 characters.
    var details = ""
    var options: [Arguments.Option]
    var subcommands: [Command] = []
    var usual: String?
    /// The words after the options may be a command with its own options.
    var handsOn = false
    /// The shell has it, too.
    var isOfShell = false
    var run: @Sendable (Arguments) throws(UsageError) -> ExitCode

    static let all: [Command] =
        [
            serve, shell, initialize,
        ] + shared + [
            backup, restore, check, verify, erase, doctor, health, admin,
            cluster,
            console,
            context,
            completion,
            generate,
            bench, echo, version,
        ]

    /// A command with subcommands.
    ///
    /// - parameter options: those that all subcommands have.
    static func group(
        _ name: String, summary: String, details: String = "", options: [Arguments.Option] = [], usual: String? = nil,
        _ subcommands: [Command]
    ) -> Command {
        let subcommands = subcommands.map { $0.adopted(by: name, options: options) }
        return Command(
            name: name, synopsis: "", summary: summary, details: details, options: options, subcommands: subcommands,
            usual: usual
        ) { _ throws(UsageError) in throw UsageError(message: "a subcommand is missing") }
    }

    /// The exit code of the command, unless its results have got lost.
    static func run(_ words: [String]) -> ExitCode {
        let code = perform(words)
        guard code == .success, let failure = StandardOutput.failure else { return code }
        // A reader that closes the pipe, such as head, has seen enough.
        if !StandardOutput.isAbandoned { StandardError.write("hearth: \(failure)\n") }
        return .failure
    }

    private static func perform(_ words: [String]) -> ExitCode {
        guard let name = words.first else {
            StandardError.write(overview + "\n")
            return .usage
        }
        let rest = words.dropFirst().map { Word($0) }
        switch name {
        case "help", "--help", "-h": return help(rest)
        case "--version": return perform(["version"])
        default: break
        }
        guard let command = named(name) else { return unknown(name) }
        // After the name of a command of the shell, that command's help is asked for.
        let own = command.handsOn ? rest.prefix { $0.text.hasPrefix("-") || $0.text.contains("://") } : rest[...]
        if asksForHelp(Array(own)) { return tellHelp(of: command.explained(by: rest)) }
        var title = command.fullName
        do throws(UsageError) {
            let (entry, words) = try UsageError.of { () throws(ShellError) in try command.entry(for: rest) }
            title = entry.fullName
            return try entry.run(try Arguments(words, of: entry))
        } catch {
            let advice = error.hasHelp ? "; 'hearth help \(title)' explains the command" : ""
            return complain(error.message + advice, as: "hearth \(title)")
        }
    }

    /// - parameter words: a command and perhaps a subcommand.
    private static func help(_ words: [Word]) -> ExitCode {
        guard let name = words.first?.text else {
            StandardOutput.line(overview)
            return .success
        }
        guard var command = named(name) else { return unknown(name) }
        if words.count > 1, !command.subcommands.isEmpty {
            do throws(ShellError) { command = try command.named(words[1].text) } catch {
                return complain(error.message ?? "", as: "hearth help")
            }
        }
        return tellHelp(of: command)
    }

    private static func tellHelp(of command: Command) -> ExitCode {
        for line in command.help(program: "hearth ") { StandardOutput.line(line) }
        return .success
    }

    private static func named(_ name: String) -> Command? { all.first { $0.names.contains(name) } }

    private static func unknown(_ name: String) -> ExitCode {
        if ShellCommand.all.contains(where: { $0.names.contains(name) }) {
            return complain("'\(name)' is a command of the shell: 'hearth shell' begins one", as: "hearth")
        }
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
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
