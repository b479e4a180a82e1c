import Glibc
import HearthServer
import HearthShell
import HearthSystem

/// Why a command line is wrong: one line for people.
struct UsageError: Error {
    var message: String
    /// The help of the command tells how it is done.
    var hasHelp = true

    /// Runs `body`; an error of the shell is a mistake in the command line.
    static func of<Value>(_ body: () throws(ShellError) -> Value) throws(UsageError) -> Value {
        do throws(ShellError) { return try body() } catch { throw UsageError(message: error.message ?? "") }
    }
}

/// The words after a command and its options (``CommandWords``). Options that are not on the line may come from the
/// environment (``variables(for:of:)``) or from a configuration file with lines `name = value`.
struct Arguments {
    typealias Option = CommandOption

    private var options: [String: String] = [:]
    /// The options that are on the line itself.
    private let onLine: Set<String>
    let positional: [String]

    /// - parameter words: those after the name of the command.
    init(_ words: [Word], of command: Command) throws(UsageError) {
        let known = command.options
        do throws(ShellError) {
            let words = try CommandWords(words, options: known, handsOn: command.handsOn)
            positional = words.arguments.map(\.text)
            onLine = Set(words.options.keys)
            for option in known {
                guard let word = words.options[option.name] else { continue }
                options[option.name] = option.value == nil ? "true" : word.text
                if option.exposes(word.text) { Self.warn(about: option, of: command) }
            }
        } catch {
            throw UsageError(message: error.message ?? "")
        }
        for option in known where options[option.name] == nil {
            let value = Self.variables(for: option.name, of: command).lazy.compactMap { getenv($0) }.first
            if let value { options[option.name] = String(cString: value) }
        }
        if let path = options["config"] { try readFile(path, known) }
        for option in known where option.value == nil {
            guard let text = options[option.name] else { continue }
            guard let isOn = Self.flagValues[text.lowercased()] else {
                throw UsageError(message: "\(option.name) must be true or false, not '\(text)'")
            }
            options[option.name] = isOn ? "true" : nil
        }
    }

    /// The environment variables of an option, the most specific one first: `HEARTH_LS_LIMIT`. The options of a
    /// server's address are also set for all commands: `HEARTH_URL`. So are those of `serve`, for commands that are
    /// about its files; commands of the shell mean other things by `--data` and `--rules`. Others are not, so that none
    /// answers the questions of all commands.
    private static func variables(for option: String, of command: Command) -> [String] {
        func variable(_ words: String...) -> String {
            (["HEARTH"] + words.map { $0.uppercased().replacing("-", with: "_") }).joined(separator: "_")
        }
        let shared = ServerAddress.options + (command.isOfShell ? [] : Command.serve.options)
        let isShared = shared.contains { $0.name == option }
        return [variable(command.parent ?? command.name, option)] + (isShared ? [variable(option)] : [])
    }

    /// Says that a secret was given where others see it, and where it belongs.
    private static func warn(about option: Option, of command: Command) {
        let variable = variables(for: option.name, of: command).last ?? ""
        let input = option.value?.hasSuffix("|-") == true ? ", or give - and the secret on standard input" : ""
        StandardError.write(
            "hearth \(command.fullName): warning: all users of this machine can read the value of --\(option.name) while the "
                + "command runs: set \(variable) instead\(input)\n")
    }

    /// The values of a flag in the environment and in files.
    private static let flagValues = [
        "true": true, "1": true, "yes": true, "on": true, "false": false, "0": false, "no": false, "off": false,
        "": false,
    ]

    /// Lines `name = value`; empty ones and those that begin with `#` do not count. The command line and the
    /// environment win.
    private mutating func readFile(_ path: String, _ known: [Option]) throws(UsageError) {
        guard let bytes = FileBytes.read(path) else { throw UsageError(message: "cannot read \(path)") }
        let text = String(decoding: bytes, as: UTF8.self)
        var linesOfNames: [String: Int] = [:]
        for (number, line) in text.lines.enumerated() {
            let line = line.trimmed
            if line.isEmpty || line.hasPrefix("#") { continue }
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].trimmed
            guard parts.count == 2 else {
                throw UsageError(message: "\(path):\(number + 1): not a line 'option = value': \(line)")
            }
            guard known.contains(where: { $0.name == name }) else {
                let suggestion = Suggestion.text(for: name, among: known.map(\.name))
                throw UsageError(message: "\(path):\(number + 1): unknown option '\(name)'\(suggestion)")
            }
            if let first = linesOfNames.updateValue(number + 1, forKey: name) {
                throw UsageError(message: "\(path):\(number + 1): '\(name)' is set in line \(first) already")
            }
            if options[name] == nil { options[name] = parts[1].trimmed }
        }
    }

    subscript(name: String) -> String? { options[name] }

    /// Whether the command line itself has an option.
    func isOnLine(_ name: String) -> Bool { onLine.contains(name) }

    /// With these values for options that have none.
    func filled(_ values: [(option: String, value: String)]) -> Arguments {
        var filled = self
        for (option, value) in values where filled.options[option]?.isEmpty ?? true { filled.options[option] = value }
        return filled
    }

    func flag(_ name: String) -> Bool { options[name] != nil }

    func integer(_ name: String, _ range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = options[name] else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw UsageError(
                message: "--\(name) must be a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
        }
        return value
    }

    /// The positional words, by the names that the help text gives them.
    func positional(_ names: String...) throws(UsageError) -> [String] {
        guard positional.count == names.count else {
            throw UsageError(
                message: names.isEmpty ? "unexpected '\(positional[0])'" : "needs \(names.joined(separator: " "))")
        }
        return positional
    }
}

extension StringProtocol {
    /// Without the white space around it.
    var trimmed: String {
        var text = Substring(self)
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }
}
