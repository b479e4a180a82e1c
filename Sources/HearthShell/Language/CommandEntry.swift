/// A command in a table: of the shell, of the program, or of both. It may have subcommands with their own options:
/// `users create`.
package protocol CommandEntry: Sendable {
    var name: String { get }
    /// Another name for it.
    var alias: String? { get }
    /// The command whose subcommand it is.
    var parent: String? { get set }
    /// The synopsis after the name.
    var synopsis: String { get }
    var summary: String { get }
    /// The members of its result as JSON, for its help; empty if nothing has to be said.
    var json: String { get }
    /// More about it.
    var details: String { get }
    /// With subcommands: those that all of them have.
    var options: [CommandOption] { get set }
    var subcommands: [Self] { get }
    /// The subcommand of a line that names none; nil if a line must name one.
    var usual: String? { get }
}

extension CommandEntry {
    /// The name, and the alias if there is one.
    package var names: [String] { [name] + (alias.map { [$0] } ?? []) }

    /// As typed: `users create`.
    package var fullName: String { (parent.map { "\($0) " } ?? "") + name }

    package var usage: String { synopsis.isEmpty ? fullName : "\(fullName) \(synopsis)" }

    /// Those of subcommands, too; each once.
    package var allOptions: [CommandOption] { subcommands.reduce(options) { CommandOption.joined($0, $1.options) } }

    /// As a subcommand.
    package func adopted(by parent: String, options: [CommandOption]) -> Self {
        var adopted = self
        adopted.parent = parent
        adopted.options = CommandOption.joined(adopted.options, options)
        return adopted
    }

    package func subcommand(_ name: String) -> Self? { subcommands.first { $0.names.contains(name) } }

    /// The command that the words after the name are for, and these without the name of the subcommand.
    ///
    /// - parameter common: options in addition to its own.
    package func entry(
        for words: [Word], common: [CommandOption] = []
    ) throws(ShellError) -> (entry: Self, words: [Word]) {
        if subcommands.isEmpty { return (self, words) }
        let scanned = try CommandWords(words, options: CommandOption.joined(allOptions, common))
        var rest = words
        let entry: Self
        if let place = scanned.arguments.firstIndex(where: { !$0.text.contains("://") }) {
            entry = try named(scanned.arguments[place].text)
            rest.remove(at: scanned.argumentIndices[place])
        } else if let usual = usual.flatMap({ subcommand($0) }) {
            entry = usual
        } else {
            throw .usage("'\(fullName)' needs \(choices)")
        }
        // Otherwise it would have no effect, unnoticed.
        let known = entry.options + common
        for name in scanned.options.keys.sorted() where !known.contains(where: { $0.name == name }) {
            throw .usage("'\(entry.fullName)' has no option --\(name)")
        }
        return (entry, rest)
    }

    /// The subcommand of a name. Throws if there is no such subcommand.
    package func named(_ name: String) throws(ShellError) -> Self {
        if let found = subcommand(name) { return found }
        let suggestion = Suggestion.text(for: name, among: subcommands.flatMap(\.names))
        throw .usage("there is no '\(fullName) \(name)'\(suggestion); '\(fullName)' takes \(choices)")
    }

    /// As in `list, kick or drop`.
    private var choices: String {
        let names = subcommands.map(\.name)
        return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }

    // MARK: Help

    /// Whether the words after the name ask for help.
    package static func asksForHelp(_ words: [Word]) -> Bool {
        words.prefix { $0.text != "--" }.contains { !$0.isLiteral && ($0.text == "--help" || $0.text == "-h") }
    }

    /// The command that words name, or one of its subcommands.
    package func explained(by words: [Word]) -> Self {
        words.lazy.compactMap { subcommand($0.text) }.first ?? self
    }

    /// The lines of its help.
    ///
    /// - parameter program: the program's name before the command's.
    package func help(program: String = "") -> [String] {
        let forms = subcommands.isEmpty ? [usage] : subcommands.map(\.usage)
        let usage = forms.enumerated().map { index, form in "\(index == 0 ? "usage:" : "      ") \(program)\(form)" }
        let width = subcommands.map(\.name.count).max() ?? 0
        let list = subcommands.map { command in
            "  \(command.name)\(String(repeating: " ", count: width - command.name.count))  \(command.summary)"
        }
        let more = subcommands.first.map { "'\(program)help \(name) \($0.name)' explains one of them." }
        let paragraphs = [
            usage, [summary], details.split(separator: "\n", omittingEmptySubsequences: false).map(String.init),
            linesAboutJSON, list, CommandOption.help(for: options), more.map { [$0] } ?? [],
        ]
        return Array(paragraphs.filter { !$0.isEmpty && $0 != [""] }.joined(separator: [""]))
    }

    /// As in `JSON: {"file", "bytes"}.`
    private var linesAboutJSON: [String] {
        if json.isEmpty { return [] }
        var lines = ["JSON:"]
        for word in json.split(whereSeparator: \.isWhitespace) {
            if lines[lines.count - 1].count + word.count < Self.widthOfHelp {
                lines[lines.count - 1] += " \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }

    private static var widthOfHelp: Int { 110 }
}
