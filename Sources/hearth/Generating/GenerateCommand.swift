import HearthShell

extension Command {
    static let generate = Command(
        name: "generate", synopsis: "man | config-man | config",
        summary: "Print a manual page or a sample configuration.",
        details: """
            'man' is hearth(1), 'config-man' is hearth.conf(5), 'config' is a configuration for production with
            every option explained. All are made from the options that this program has.
            """,
        options: []
    ) { arguments throws(UsageError) in
        let text: String
        switch try arguments.positional("KIND")[0] {
        case "man": text = ManualPage.commands
        case "config-man": text = ManualPage.configuration
        case "config": text = SampleConfiguration.text
        case let kind: throw UsageError(message: "there is no '\(kind)': man, config-man or config")
        }
        StandardOutput.write(text)
        return .success
    }
}
