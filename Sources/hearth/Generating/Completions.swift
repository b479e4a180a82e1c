import HearthShell

/// Completions of commands and options for shells.
enum Completions {
    /// How the value of an option is completed.
    private enum Value {
        case none, file, folder, word
    }

    private static func value(of option: Arguments.Option) -> Value {
        switch option.value {
        case nil: .none
        case "FILE": .file
        case "DIR": .folder
        default: .word
        }
    }

    /// As they stand on a line.
    private static func names(_ option: Arguments.Option) -> [String] {
        ["--\(option.name)"] + (option.letter.map { ["-\($0)"] } ?? [])
    }

    /// The names of all commands, aliases included.
    private static var commands: String { Command.all.flatMap(\.names).joined(separator: " ") }

    static var bash: String {
        let cases = Command.all.map { command in
            "    \(command.names.joined(separator: "|"))) options=\"\(command.options.flatMap(names).joined(separator: " "))\" ;;"
        }
        let all = Command.all.flatMap(\.options)
        func words(_ kind: Value) -> String {
            Set(all.filter { value(of: $0) == kind }.flatMap(names)).sorted().joined(separator: "|")
        }
        return """
            # bash completion for hearth: 'hearth completion bash'
            _hearth() {
              local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=
              COMPREPLY=()
              if ((COMP_CWORD == 1)); then
                COMPREPLY=($(compgen -W "\(commands) help" -- "$word"))
                return
              fi
              case $before in
                \(words(.file))) compopt -o filenames; COMPREPLY=($(compgen -f -- "$word")); return ;;
                \(words(.folder))) compopt -o filenames; COMPREPLY=($(compgen -d -- "$word")); return ;;
                \(words(.word))) return ;;
              esac
              case ${COMP_WORDS[1]} in
            \(cases.joined(separator: "\n"))
                help) COMPREPLY=($(compgen -W "\(commands)" -- "$word")); return ;;
              esac
              if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "$options" -- "$word"))
              else
                compopt -o filenames
                COMPREPLY=($(compgen -f -- "$word"))
              fi
            }
            complete -F _hearth hearth

            """
    }

    static var zsh: String {
        let commands = Command.all.flatMap { command in
            command.names.map { "    '\($0):\(quoted(command.summary))'" }
        }
        let cases = Command.all.map { command in
            let options = command.options.flatMap { option in
                let action =
                    switch value(of: option) {
                    case .none: ""
                    case .file: ":\(option.value ?? ""):_files"
                    case .folder: ":\(option.value ?? ""):_files -/"
                    case .word: ":\(option.value ?? ""): "
                    }
                let help = quoted(option.help).replacing("[", with: "\\[").replacing("]", with: "\\]")
                return names(option).map { name in
                    "      '\(name)[\(help)]\(action.replacing("HOST:PORT", with: "address"))' \\"
                }
            }
            return
                "    \(command.names.joined(separator: "|"))) _arguments \\\n\((options + ["      '*:file:_files'"]).joined(separator: "\n")) ;;"
        }
        return """
            #compdef hearth
            # zsh completion for hearth: 'hearth completion zsh'
            local -a commands
            if ((CURRENT == 2)); then
              commands=(
            \(commands.joined(separator: "\n"))
              )
              _describe command commands
              return
            fi
            local command=$words[2]
            shift words
            ((CURRENT--))
            case $command in
            \(cases.joined(separator: "\n"))
            esac

            """
    }

    static var fish: String {
        var lines = ["# fish completion for hearth: 'hearth completion fish'"]
        for command in Command.all {
            let names = command.names.joined(separator: " ")
            lines.append(
                "complete -c hearth -n __fish_use_subcommand -f -a '\(names)' -d '\(quoted(command.summary, "\\'"))'")
            for option in command.options {
                let takes: String =
                    switch value(of: option) {
                    case .none: ""
                    case .file: " -r -F"
                    case .folder: " -x -a '(__fish_complete_directories)'"
                    case .word: " -x"
                    }
                lines.append(
                    "complete -c hearth -n '__fish_seen_subcommand_from \(names)' "
                        + (option.letter.map { " -s \($0)" } ?? "")
                        + " -l \(option.name)\(takes)"
                        + " -d '\(quoted(option.help, "\\'"))'")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// For single quotes.
    private static func quoted(_ text: String, _ quote: String = "'\\''") -> String {
        text.replacing("'", with: quote)
    }
}
