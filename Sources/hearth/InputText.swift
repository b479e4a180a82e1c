import Glibc
import HearthServer
import JSONTree
import WireProtocol

/// JSON given on the command line, or on standard input where the word is `-`.
struct InputText {
    let bytes: [UInt8]

    init(_ word: String) throws(UsageError) {
        guard word == "-" else {
            bytes = Array(word.utf8)
            return
        }
        guard let read = FileBytes.read(from: STDIN_FILENO) else {
            throw UsageError(message: "cannot read standard input")
        }
        bytes = read
    }

    /// The value for a place.
    func value(for target: WriteTarget) throws(UsageError) -> CanonicalJSON {
        try parse { (text) throws(RequestError) in try WireAssignment.parse(text, for: target) }.value
    }

    /// The values of an update.
    func assignments(base: Path) throws(UsageError) -> [WireAssignment] {
        guard bytes.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else {
            throw UsageError(message: "an update needs a JSON object of paths and their values")
        }
        return try parse { (text) throws(RequestError) in try WireAssignment.parse(text, base: base) }
    }

    private func parse<Result>(
        _ body: (UnsafeRawBufferPointer) throws(RequestError) -> Result
    ) throws(UsageError) -> Result {
        do throws(RequestError) {
            return try bytes.span.bytes.withUnsafeBytes { (text) throws(RequestError) in try body(text) }
        } catch {
            guard case .value(let error) = error else { throw UsageError(message: error.message) }
            let (line, column) = error.position(in: bytes)
            throw UsageError(message: "invalid JSON at line \(line), column \(column): \(error)\(hint(for: error))")
        }
    }

    /// A shell takes the quotes of a string away, so many forget that JSON has its own.
    private func hint(for error: JSONError) -> String {
        guard case .unexpectedByte = error.kind, let first = bytes.first(where: { $0 > 0x20 }),
            !"{[\"-0123456789".utf8.contains(first)
        else { return "" }
        return "; a string is written '\"…\"'"
    }
}
