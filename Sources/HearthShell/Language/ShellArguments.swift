import JSONTree
import WireProtocol

/// The words behind a command, options apart.
struct ShellArguments {
    /// Options of a command: the names with their dashes, and whether a value stands behind.
    typealias Options = [String: Bool]

    let command: ShellCommand
    private(set) var words: [Word] = []
    private var options: [String: Word] = [:]

    init(_ command: ShellCommand, _ all: [Word]) throws(ShellError) {
        self.command = command
        if command.takesCommand {
            words = all
            return
        }
        var rest = all[...]
        while let word = rest.popFirst() {
            guard !word.isLiteral, word.text.hasPrefix("-"), word.text.count > 1,
                // A negative number is a value.
                !(word.text.dropFirst().first?.isNumber ?? false)
            else {
                words.append(word)
                continue
            }
            guard let hasValue = command.options[word.text] else {
                let suggestion = Suggestion.text(for: word.text, among: command.options.keys.sorted())
                throw misused("unknown option \(word.text)\(suggestion)")
            }
            guard hasValue else {
                options[word.text] = Word("")
                continue
            }
            guard let value = rest.popFirst() else { throw misused("\(word.text) needs a value") }
            options[word.text] = value
        }
    }

    subscript(name: String) -> String? { options[name]?.text }

    /// As it was written, for what may be JSON.
    func word(_ name: String) -> Word? { options[name] }

    func has(_ name: String) -> Bool { options[name] != nil }

    func count(_ name: String, in range: ClosedRange<Int> = 1...1_000_000) throws(ShellError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw misused("\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// Throws unless there are so many words.
    func expect(_ range: ClosedRange<Int>) throws(ShellError) {
        guard range.contains(words.count) else {
            throw misused(words.count < range.lowerBound ? "too few words" : "too many words")
        }
    }

    func misused(_ why: String) -> ShellError { .usage("\(why); usage: \(command.usage)") }

    /// What stands behind a word, which is JSON: it need not be one word.
    func json(from index: Int) throws(ShellError) -> [UInt8] {
        guard words.count > index else { throw misused("the value is missing") }
        return Array(words[index...].map(\.raw).joined(separator: " ").utf8)
    }
}
