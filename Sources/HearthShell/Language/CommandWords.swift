/// The words after the name of a command, separated into arguments and options. Options have the forms
/// `--name value`, `--name=value`, `--flag`, `-n value`, `-nvalue` and `-f`. All words after `--` are arguments, and so
/// are quoted words, negative numbers and `-`.
package struct CommandWords: Sendable {
    package private(set) var arguments: [Word] = []
    /// The index of each of these among all words.
    private(set) var argumentIndices: [Int] = []
    /// By their long names. The word of a flag is empty.
    package private(set) var options: [String: Word] = [:]

    /// - parameter handsOn: whether the arguments may be another command with its own options. Then an unknown option
    ///   after the first argument that is not a URL belongs to that command.
    package init(_ words: [Word], options known: [CommandOption], handsOn: Bool = false) throws(ShellError) {
        var rest = words[...]
        while let word = rest.popFirst() {
            guard Self.isOption(word) else {
                arguments.append(word)
                argumentIndices.append(rest.startIndex - 1)
                continue
            }
            if word.text == "--" {
                arguments += rest
                argumentIndices += rest.indices
                return
            }
            let (name, attached) = Self.parts(of: word.text)
            guard let option = known.first(where: { "--\($0.name)" == name || $0.letter.map { "-\($0)" } == name })
            else {
                if handsOn, arguments.contains(where: { !$0.text.contains("://") }) {
                    arguments.append(word)
                    argumentIndices.append(rest.startIndex - 1)
                    continue
                }
                let suggestion = Suggestion.text(for: name, among: known.map { "--\($0.name)" })
                throw .usage("unknown option \(name)\(suggestion)")
            }
            if option.value == nil {
                guard attached == nil else { throw .usage("\(name) takes no value") }
                options[option.name] = Word("")
            } else if let attached {
                options[option.name] = Word(attached)
            } else {
                guard let value = rest.popFirst() else { throw .usage("\(name) needs a value") }
                options[option.name] = value
            }
        }
    }

    private static func isOption(_ word: Word) -> Bool {
        let second = word.text.dropFirst().first
        return !word.isLiteral && word.text.hasPrefix("-") && second != nil && second?.isNumber == false
    }

    /// The name with its dashes, and the value in the same word.
    private static func parts(of text: String) -> (name: String, value: String?) {
        guard text.hasPrefix("--") else {
            let value = text.dropFirst(2)
            return (String(text.prefix(2)), value.isEmpty ? nil : String(value))
        }
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count == 2 ? String(parts[1]) : nil)
    }
}
