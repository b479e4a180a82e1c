import HearthShell

extension Command {
    static let completion = Command(
        name: "completion", synopsis: "bash | zsh | fish",
        summary: "Print the completions of commands and options for a shell.",
        details: """
            Where no package has installed them for all users:

              bash    source <(hearth completion bash)    in ~/.bashrc
              fish    hearth completion fish | source     in ~/.config/fish/config.fish
              zsh     hearth completion zsh >"${fpath[1]}/_hearth", once
            """,
        options: []
    ) { arguments throws(UsageError) in
        let text: String
        switch try arguments.positional("SHELL")[0] {
        case "bash": text = Completions.bash
        case "zsh": text = Completions.zsh
        case "fish": text = Completions.fish
        case let shell: throw UsageError(message: "there are no completions for '\(shell)': bash, zsh or fish")
        }
        StandardOutput.write(text)
        return .success
    }
}
