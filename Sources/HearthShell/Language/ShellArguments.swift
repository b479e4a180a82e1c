import HearthJSONTree
import HearthWireProtocol

/// The words after a command, without its options.
package struct ShellArguments {
    /// The name of the command.
    let command: String
    private let usage: String
    private(set) var words: [Word]
    let options: [String: Word]

    /// - parameter options: by their long names, without dashes.
    package init(of command: some CommandEntry, _ words: [Word] = [], options: [String: Word] = [:]) {
        (self.command, usage, self.words, self.options) = (command.name, command.usage, words, options)
    }

    /// The first words alone.
    func prefix(_ count: Int) -> ShellArguments {
        var arguments = self
        arguments.words.removeLast(words.count - count)
        return arguments
    }

    /// The text of an option, by its long name without dashes.
    subscript(name: String) -> String? { options[name]?.text }

    /// As typed, for words that may be JSON.
    func word(_ name: String) -> Word? { options[name] }

    func has(_ name: String) -> Bool { options[name] != nil }

    func count(_ name: String, in range: ClosedRange<Int> = 1...1_000_000) throws(ShellError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw misused("--\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// Throws unless there are so many words.
    func expect(_ range: ClosedRange<Int>) throws(ShellError) {
        guard range.contains(words.count) else {
            throw misused(words.count < range.lowerBound ? "too few words" : "too many words")
        }
    }

    func misused(_ why: String) -> ShellError { .usage("\(why); usage: \(usage)") }

    /// The JSON after a word: it need not be a single word.
    func json(from index: Int) throws(ShellError) -> [UInt8] {
        guard words.count > index else { throw misused("the value is missing") }
        return Array(words[index...].map(\.raw).joined(separator: " ").utf8)
    }
}
