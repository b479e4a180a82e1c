import HearthShell

/// The commands that the shell has, too: the words, the options, the questions and the output are the same.
extension Command {
    static let shared = ShellCommand.all.filter(\.runsAlone).map { Command($0) }

    private init(_ command: ShellCommand) {
        let about =
            command.parent == nil && command.subcommands.isEmpty
            ? """
            Also a command of 'hearth shell'. A PATH that does not begin with / is below the path of the URL.
            """ : ""
        let synopsis =
            command.urlIsPath
            ? command.synopsis.replacing("[PATH]", with: "[PATH|URL]") : "[URL] \(command.synopsis)"
        self.init(
            name: command.name, alias: command.alias, parent: command.parent, synopsis: synopsis,
            summary: command.summary, json: command.json,
            details: [command.details, about].filter { !$0.isEmpty }.joined(separator: "\n\n"),
            options: Self.options(of: command), subcommands: command.subcommands.map { Command($0) },
            usual: command.usual, isOfShell: true
        ) { arguments throws(UsageError) in try command.run(arguments) }
    }

    /// Those of the shell's command, and those that say where and how it runs.
    static func options(of command: ShellCommand) -> [Arguments.Option] {
        Arguments.Option.joined(command.options, Arguments.Option.common) + ServerAddress.options
    }
}

extension ShellCommand {
    /// Runs it as a command of the program.
    func run(_ arguments: Arguments) throws(UsageError) -> ExitCode {
        var words = arguments.positional
        let count = words.count
        let address = try ServerAddress(arguments, takingURLFrom: &words)
        if urlIsPath, words.count < count { words.insert(".", at: 0) }
        var options: [String: Word] = [:]
        for option in self.options { options[option.name] = arguments[option.name].map { Word($0) } }
        let call = ShellArguments(of: self, words.map { Word($0) }, options: options)
        return try ShellRun(address, arguments, program: fullName)({ shell in shell.run(self, call) })
    }
}
