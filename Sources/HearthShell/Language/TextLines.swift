extension StringProtocol {
    /// The lines of a text that end with LF or CRLF; the last one is empty if a line break ends the text. To `split`,
    /// CRLF would be a character of its own that is no line break.
    package var lines: [String] {
        unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            String(Substring.UnicodeScalarView(line.last == "\r" ? line.dropLast() : line))
        }
    }
}
