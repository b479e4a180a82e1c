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

    /// As typed.
    private static func names(_ option: Arguments.Option) -> [String] {
        ["--\(option.name)"] + (option.letter.map { ["-\($0)"] } ?? [])
    }

    /// The names of all commands, aliases included.
    private static var commands: String { Command.all.flatMap(\.names).joined(separator: " ") }

    static var bash: String {
        func options(_ command: Command) -> String {
            let options = command.subcommands.isEmpty ? command.options : command.allOptions
            return "options=\"\(options.flatMap(names).joined(separator: " "))\""
        }
        let cases = Command.all.map { command in
            let names = command.names.joined(separator: "|")
            if command.subcommands.isEmpty { return "    \(names)) \(options(command)) ;;" }
            let words = command.subcommands.flatMap(\.names).joined(separator: " ")
            let inner = command.subcommands.map { "        \($0.names.joined(separator: "|"))) \(options($0)) ;;" }
            return
                (["    \(names)) subcommands=\"\(words)\"", "      case ${COMP_WORDS[2]} in"] + inner
                + ["        *) \(options(command)) ;;", "      esac ;;"]).joined(separator: "\n")
        }
        let all = Command.all.flatMap(\.allOptions)
        func words(_ kind: Value) -> String {
            Set(all.filter { value(of: $0) == kind }.flatMap(names)).sorted().joined(separator: "|")
        }
        return """
            # bash completion for hearth: 'hearth completion bash'
            _hearth() {
              local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options= subcommands=
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
              elif ((COMP_CWORD == 2)) && [[ -n $subcommands ]]; then
                COMPREPLY=($(compgen -W "$subcommands" -- "$word"))
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
        func arguments(_ command: Command, _ rest: String) -> String {
            let options = command.allOptions.flatMap { option in
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
            return "_arguments \\\n\((options + ["      '\(rest)'"]).joined(separator: "\n"))"
        }
        let cases = Command.all.map { command in
            let names = command.names.joined(separator: "|")
            if command.subcommands.isEmpty { return "    \(names)) \(arguments(command, "*:file:_files")) ;;" }
            let list = command.subcommands.flatMap { subcommand in
                subcommand.names.map { "          '\($0):\(quoted(subcommand.summary))'" }
            }
            let inner = command.subcommands.map { subcommand in
                "        \(subcommand.names.joined(separator: "|"))) \(arguments(subcommand, "*:file:_files")) ;;"
            }
            return
                (["    \(names))", "      if ((CURRENT == 2)); then", "        commands=("] + list
                + ["        )", "        _describe subcommand commands", "        return", "      fi"]
                + ["      command=$words[2]", "      shift words", "      ((CURRENT--))", "      case $command in"]
                + inner + ["        *) \(arguments(command, "*:file:_files")) ;;", "      esac ;;"])
                .joined(separator: "\n")
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
            for subcommand in command.subcommands {
                let inner = subcommand.names.joined(separator: " ")
                lines.append(
                    "complete -c hearth -n '__fish_seen_subcommand_from \(names); "
                        + "and not __fish_seen_subcommand_from \(command.subcommands.flatMap(\.names).joined(separator: " "))'"
                        + " -f -a '\(inner)' -d '\(quoted(subcommand.summary, "\\'"))'")
            }
            for option in command.allOptions {
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
