import Glibc
import HearthServer
import HearthShell
import HearthJSONTree
import HearthSystem
import HearthWireProtocol

/// JSON given on the command line, or on standard input where the word is `-`.
struct InputText {
    private let input: JSONInput

    var bytes: [UInt8] { input.bytes }

    init(_ word: String) throws(UsageError) {
        guard word == "-" else {
            input = JSONInput(Array(word.utf8))
            return
        }
        guard let read = FileBytes.read(from: STDIN_FILENO) else {
            throw UsageError(message: "cannot read standard input")
        }
        input = JSONInput(read)
    }

    /// What a file holds.
    init(contentsOf path: String) throws(UsageError) {
        guard let read = FileBytes.read(path) else { throw UsageError(message: "cannot read \(path)") }
        input = JSONInput(read)
    }

    var lines: [String] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map(
            String.init)
    }

    /// The value for a place.
    func value(for target: WriteTarget) throws(UsageError) -> CanonicalJSON {
        try UsageError.of { () throws(ShellError) in try input.value(for: target) }
    }
}

extension UsageError {
    /// Runs `body`; what is wrong with what the shell would refuse too is wrong with the command line.
    static func of<Value>(_ body: () throws(ShellError) -> Value) throws(UsageError) -> Value {
        do throws(ShellError) { return try body() } catch {
            throw UsageError(message: error.message ?? "", hasHelp: false)
        }
    }
}
