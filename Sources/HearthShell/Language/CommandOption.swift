/// An option of a command, on the command line and in the shell.
package struct CommandOption: Sendable {
    /// The long name, without dashes.
    package var name: String
    /// Its short form, one letter.
    package var letter: Character?
    /// The word for its value in help texts; nil for a flag.
    package var value: String?
    package var help: String
    /// Whether the value is a secret, such as a password. The arguments of a process are no place for it: all users of
    /// the machine can read them.
    package var isSecret: Bool

    package init(name: String, letter: Character? = nil, value: String?, isSecret: Bool = false, help: String) {
        (self.name, self.letter, self.value, self.help) = (name, letter, value, help)
        self.isSecret = isSecret
    }

    /// Whether a value is secret: `-` means standard input, and `owner` is not secret.
    package func exposes(_ value: String) -> Bool { isSecret && !["", "-", "owner"].contains(value) }

    /// As help texts show it: `-n, --limit N`.
    package var usage: String {
        (letter.map { "-\($0), " } ?? "") + "--\(name)" + (value.map { " \($0)" } ?? "")
    }

    /// A line of help for each option, in two columns.
    package static func help(for options: [CommandOption]) -> [String] {
        let width = options.map(\.usage.count).max() ?? 0
        return options.map { option in
            let padding = String(repeating: " ", count: width - option.usage.count)
            return "  \(option.usage)\(padding)  \(option.help)"
        }
    }
}

extension CommandOption {
    package static let yes = CommandOption(name: "yes", letter: "y", value: nil, help: "do not ask before much is lost")

    /// Of commands that write a file.
    package static let overwrite = CommandOption(
        name: "overwrite", value: nil, help: "replace FILE, if there is one")

    /// Each name once: the first of two options counts.
    package static func joined(_ some: [CommandOption], _ others: [CommandOption]) -> [CommandOption] {
        some + others.filter { other in !some.contains { $0.name == other.name } }
    }

    /// How results are printed.
    package static let output = [
        CommandOption(
            name: "output", letter: "o", value: "FORMAT",
            help: "text (also called table), raw, json, or jsonl: a line for each element of a list"),
        .init(name: "json", letter: "j", value: nil, help: "the same as -o json"),
    ]

    /// Those that all commands of the shell have.
    package static let common =
        output + [.init(name: "dry-run", value: nil, help: "show what would change, and change nothing"), .yes]

    static func limit(_ help: String) -> CommandOption {
        CommandOption(name: "limit", letter: "n", value: "N", help: help)
    }
}
