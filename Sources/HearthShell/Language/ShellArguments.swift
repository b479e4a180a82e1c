import HearthJSONTree
import HearthWireProtocol

/// The words after a command, without its options.
package struct ShellArguments {
    let command: ShellCommand
    let words: [Word]
    let options: [String: Word]

    init(_ command: ShellCommand, _ all: [Word]) throws(ShellError) {
        if command.takesCommand {
            self.init(command, all, options: [:])
            return
        }
        let (entry, rest) = try command.entry(for: all, common: CommandOption.common)
        do throws(ShellError) {
            let words = try CommandWords(rest, options: CommandOption.joined(entry.options, CommandOption.common))
            self.init(entry, words.arguments, options: words.options)
        } catch {
            throw Self.misused(error.message ?? "", entry)
        }
    }

    /// - parameter options: by their long names, without dashes.
    package init(_ command: ShellCommand, _ words: [Word], options: [String: Word]) {
        (self.command, self.words, self.options) = (command, words, options)
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

    func misused(_ why: String) -> ShellError { Self.misused(why, command) }

    private static func misused(_ why: String, _ command: ShellCommand) -> ShellError {
        .usage("\(why); usage: \(command.usage)")
    }

    /// The JSON after a word: it need not be a single word.
    func json(from index: Int) throws(ShellError) -> [UInt8] {
        guard words.count > index else { throw misused("the value is missing") }
        return Array(words[index...].map(\.raw).joined(separator: " ").utf8)
    }
}
