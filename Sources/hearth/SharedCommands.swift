import HearthShell

/// The commands that the shell has, too: the words, the options, the questions and the output are the same.
extension Command {
    static let shared = ShellCommand.all.filter(\.runsAlone).map { Command($0) }

    private init(_ command: ShellCommand) {
        let about = """
            Also a command of 'hearth shell'. A PATH that does not begin with / is below the path of the URL.
            """
        let own = command.options.map(\.name)
        let synopsis =
            command.urlIsPath
            ? command.synopsis.replacing("[PATH]", with: "[PATH|URL]") : "[URL] \(command.synopsis)"
        self.init(
            name: command.name, alias: command.alias, synopsis: synopsis, summary: command.summary,
            details: command.details.isEmpty ? about : "\(command.details)\n\n\(about)",
            options: command.options + ShellRun.options.filter { !own.contains($0.name) } + ServerAddress.options
        ) { arguments throws(UsageError) in
            var words = arguments.positional
            let count = words.count
            let address = try ServerAddress(arguments, takingURLFrom: &words)
            if command.urlIsPath, words.count < count { words.insert(".", at: 0) }
            var options: [String: Word] = [:]
            for name in own { options[name] = arguments[name].map { Word($0) } }
            let call = ShellArguments(command, words.map { Word($0) }, options: options)
            let run = ShellRun(address, arguments, program: command.name)
            return try run { shell in
                shell.run(call)
            }
        }
    }
}
