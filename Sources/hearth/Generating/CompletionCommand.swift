import HearthShell

extension Command {
    static let completion = group(
        "completion", summary: "Print the completions of commands and options for a shell.",
        details: """
            Where no package has installed them for all users:

              bash    source <(hearth completion bash)    in ~/.bashrc
              fish    hearth completion fish | source     in ~/.config/fish/config.fish
              zsh     hearth completion zsh >"${fpath[1]}/_hearth", once
            """,
        [
            printing("bash", "For bash.") { Completions.bash },
            printing("zsh", "For zsh.") { Completions.zsh },
            printing("fish", "For fish.") { Completions.fish },
        ])

    /// A subcommand that prints a text.
    static func printing(
        _ name: String, _ summary: String, _ text: @escaping @Sendable () -> String
    ) -> Command {
        Command(name: name, synopsis: "", summary: summary, options: []) { arguments throws(UsageError) in
            _ = try arguments.positional()
            StandardOutput.write(text())
            return .success
        }
    }
}
