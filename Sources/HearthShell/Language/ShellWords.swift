import HearthJSONTree

/// A word of a line.
package struct Word: Hashable, Sendable {
    /// As typed, for words that are read as JSON.
    package var raw: String
    /// Without the quotes, for names and paths.
    package var text: String
    /// Some of it stood in quotes.
    package var isQuoted = false
    /// Some of it stood in quotes, or a backslash before it: it is not an option.
    package var isLiteral = false

    /// A word that somebody else has taken apart, such as the shell that this program was started by.
    package init(_ text: String) { (raw, self.text) = (text, text) }

    /// As it was written, but for quotes around all of it.
    var unquoted: String { raw.hasPrefix("\"") ? text : raw }

    init(raw: String, text: String, isQuoted: Bool, isLiteral: Bool) {
        self.raw = raw
        self.text = text
        self.isQuoted = isQuoted
        self.isLiteral = isLiteral
    }
}

/// Splits a line into words: at white space, but not within JSON. A word that begins with `{` or `[` ends with the
/// closing bracket, `"…"` is a JSON string, text in `'…'` is literal, and so is the character after a backslash. A `#`
/// at the beginning of a word makes the rest a comment.
package enum ShellWords {
    package static func split(_ line: String) throws(ShellError) -> [Word] {
        var splitter = Splitter(line)
        var words: [Word] = []
        while let word = try splitter.next() { words.append(word) }
        return words
    }

    /// A path, quoted for a line if necessary.
    static func escaped(_ text: String) -> String {
        var out = ""
        for (index, scalar) in text.unicodeScalars.enumerated() {
            let isSpecial = scalar.properties.isWhitespace || "\"'\\".unicodeScalars.contains(scalar)
            if isSpecial || index == 0 && "#{[-".unicodeScalars.contains(scalar) { out += "\\" }
            out.unicodeScalars.append(scalar)
        }
        return out
    }

    /// The words before the last one, and how the last one begins, which somebody is still writing. Nil within JSON and
    /// quotes.
    static func unfinished(_ line: String) -> (words: [Word], start: String)? {
        guard let all = try? split(line) else { return nil }
        let isBegun = line.unicodeScalars.last.map { !$0.properties.isWhitespace } ?? false
        guard isBegun || line.hasSuffix("\\ "), let last = all.last else { return (all, "") }
        guard !last.isQuoted else { return nil }
        return (Array(all.dropLast()), last.text)
    }

    private struct Splitter {
        private let scalars: [Unicode.Scalar]
        private var rest: ArraySlice<Unicode.Scalar>

        init(_ line: String) {
            scalars = Array(line.unicodeScalars)
            rest = scalars[...]
        }

        mutating func next() throws(ShellError) -> Word? {
            while let scalar = rest.first, scalar.properties.isWhitespace { rest.removeFirst() }
            guard let first = rest.first, first != "#" else { return nil }
            let start = rest.startIndex
            if first == "{" || first == "[" {
                try skipJSON()
                let text = string(from: start)
                return Word(raw: text, text: text, isQuoted: true, isLiteral: true)
            }
            var text = ""
            var raw = ""
            var isQuoted = false
            let isEscaped = first == "\\"
            while let scalar = rest.first, !scalar.properties.isWhitespace {
                let begin = rest.startIndex
                switch scalar {
                case "\"":
                    try skipString()
                    let quoted = string(from: begin)
                    raw += quoted
                    text += try Self.decoded(quoted)
                    isQuoted = true
                case "'":
                    guard let end = rest.dropFirst().firstIndex(of: "'") else {
                        throw .usage("the quote ' is not closed")
                    }
                    let inner = string(scalars[begin + 1..<end])
                    raw += inner
                    text += inner
                    isQuoted = true
                    rest = rest[(end + 1)...]
                case "\\":
                    rest.removeFirst()
                    guard let escaped = rest.popFirst() else { throw .usage("a backslash at the end of the line") }
                    raw.unicodeScalars.append(escaped)
                    text.unicodeScalars.append(escaped)
                default:
                    raw.unicodeScalars.append(scalar)
                    text.unicodeScalars.append(scalar)
                    rest.removeFirst()
                }
            }
            return Word(raw: raw, text: text, isQuoted: isQuoted, isLiteral: isQuoted || isEscaped)
        }

        /// The text passed over since an index.
        private func string(from start: Int) -> String { string(scalars[start..<rest.startIndex]) }

        private func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
            var text = ""
            text.unicodeScalars.append(contentsOf: scalars)
            return text
        }

        private mutating func skipJSON() throws(ShellError) {
            var depth = 0
            while let scalar = rest.first {
                switch scalar {
                case "\"":
                    try skipString()
                    continue
                case "{", "[": depth += 1
                case "}", "]": depth -= 1
                default: break
                }
                rest.removeFirst()
                if depth == 0 { return }
            }
            throw .usage("a bracket is not closed")
        }

        private mutating func skipString() throws(ShellError) {
            rest.removeFirst()
            while let scalar = rest.popFirst() {
                if scalar == "\"" { return }
                if scalar == "\\" { _ = rest.popFirst() }
            }
            throw .usage("the quote \" is not closed")
        }

        private static func decoded(_ quoted: String) throws(ShellError) -> String {
            let bytes = Array(quoted.utf8)
            do throws(JSONError) {
                return try bytes.span.bytes.withUnsafeBytes { (bytes) throws(JSONError) in
                    var reader = JSONReader(bytes)
                    return String(decoding: try reader.string(), as: UTF8.self)
                }
            } catch {
                throw .usage("\(quoted) is no JSON string: \(error)")
            }
        }
    }
}
