package import HearthJSONTree
import HearthJSONValues
package import HearthWireProtocol

/// JSON typed by a user, and messages about its mistakes.
package struct JSONInput: Sendable {
    package let bytes: [UInt8]
    /// It comes from standard input or a file, not from the command line.
    private let isRead: Bool

    package init(_ bytes: [UInt8], isRead: Bool = false) { (self.bytes, self.isRead) = (bytes, isRead) }

    /// The value for a place.
    package func value(for target: WriteTarget) throws(ShellError) -> CanonicalJSON {
        try parse { (text) throws(RequestError) in try WireAssignment.parse(text, for: target) }.value
    }

    /// The input as an object.
    ///
    /// - parameter what: the message for input that is not an object.
    func object(_ what: String) throws(ShellError) -> JSONObject {
        guard let object = (try? JSONValue(parsing: bytes))?.object else { throw invalid(what) }
        return object
    }

    /// The values of an update.
    package func assignments(base: Path) throws(ShellError) -> [WireAssignment] {
        guard bytes.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else {
            throw invalid("an update needs a JSON object of paths and their values")
        }
        return try parse { (text) throws(RequestError) in try WireAssignment.parse(text, base: base) }
    }

    private func parse<Result>(
        _ body: (UnsafeRawBufferPointer) throws(RequestError) -> Result
    ) throws(ShellError) -> Result {
        do throws(RequestError) {
            return try bytes.span.bytes.withUnsafeBytes { (text) throws(RequestError) in try body(text) }
        } catch {
            guard case .value(let error) = error else { throw invalid(error.message) }
            let (line, column) = error.position(in: bytes)
            throw invalid("invalid JSON at line \(line), column \(column): \(error)\(hint(for: error))")
        }
    }

    private func invalid(_ text: String) -> ShellError { isRead ? .data(text) : .usage(text) }

    /// A shell takes the quotes of a string away, so many forget that JSON has its own.
    private func hint(for error: JSONError) -> String {
        guard case .unexpectedByte = error.kind, let first = bytes.first(where: { $0 > 0x20 }),
            !"{[\"-0123456789".utf8.contains(first)
        else { return "" }
        return "; a string is written '\"…\"'"
    }
}
