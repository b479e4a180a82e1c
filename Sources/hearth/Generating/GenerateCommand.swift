extension Command {
    static let generate = group(
        "generate", summary: "Print a manual page or a sample configuration.",
        details: "All are made from the commands and options that this program has.",
        [
            printing("man", "The manual page hearth(1).") { ManualPage.commands },
            printing("config-man", "The manual page hearth.conf(5).") { ManualPage.configuration },
            printing("config", "A configuration for production, with every option explained.") {
                SampleConfiguration.text
            },
        ])
}
