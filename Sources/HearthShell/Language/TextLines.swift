extension StringProtocol {
    /// The lines of a text that end with LF or CRLF; the last one is empty if a line break ends the text. Splitting the
    /// text at `"\n"` does not split it at CRLF, which is a single character.
    package var lines: [String] {
        unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            String(Substring.UnicodeScalarView(line.last == "\r" ? line.dropLast() : line))
        }
    }
}
