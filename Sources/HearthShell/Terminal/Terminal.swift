import Glibc

/// The terminal that the program has, if it has one.
enum Terminal {
    struct Size {
        var columns: Int
        var rows: Int
    }

    static var size: Size? {
        var size = winsize()
        guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0,
            size.ws_col > 0
        else { return nil }
        return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Text that is ready to be shown, without control characters except the colours of ``Style`` and line breaks.
    static func harmless(_ text: String) -> String {
        let parts = text.split(separator: "\u{1B}", omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(parts[0].printableLines) { out, part in
            guard let style = Style.sequences.first(where: part.hasPrefix) else {
                return out + "\u{FFFD}" + part.printableLines
            }
            return out + "\u{1B}" + style + part.dropFirst(style.count).printableLines
        }
    }

    /// The next key, without an echo and without the enter key after it; nil at the end.
    static func key(_ prompt: String) -> UInt8? {
        withMode {
            $0.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        } do: {
            StandardOutput.control(prompt)
            var byte: UInt8 = 0
            while true {
                let count = read(STDIN_FILENO, &byte, 1)
                if count == 1 { return byte }
                if count == 0 || errno != EINTR { return nil }
            }
        }
    }

    /// A line; nil at the end. Throws ``ShellError/givenUp`` after ^C.
    ///
    /// - parameter isShown: whether the terminal shows the input.
    static func line(_ prompt: String, isShown: Bool = true) throws(ShellError) -> String? {
        func show(_ text: String) { if isShown { StandardOutput.control(text) } }
        var line: [UInt8] = []
        let answer: Result<String?, ShellError> = withMode {
            $0.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        } do: {
            // Not earlier: the terminal also shows earlier input.
            StandardOutput.control(prompt)
            defer { StandardOutput.control("\n") }
            while true {
                var byte: UInt8 = 0
                let count = read(STDIN_FILENO, &byte, 1)
                if count < 0, errno == EINTR { continue }
                guard count == 1, byte != 0x04 else { return .success(nil) }
                switch byte {
                case 0x03: return .failure(.givenUp)
                case 0x0A, 0x0D: return .success(String(decoding: line, as: UTF8.self))
                case 0x7F, 0x08:
                    if line.isEmpty { break }
                    // The bytes after the first one of a character begin with the bits 10.
                    while let last = line.popLast(), last & 0xC0 == 0x80 {}
                    show("\u{8} \u{8}")
                case 0x20...:
                    line.append(byte)
                    if isShown { StandardOutput.control([byte]) }
                default: break
                }
            }
        }
        return try answer.get()
    }

    private static func withMode<Result>(_ change: (inout termios) -> Void, do body: () -> Result) -> Result {
        var before = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0 else { return body() }
        var mode = before
        change(&mode)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &mode)
        defer { tcsetattr(STDIN_FILENO, TCSADRAIN, &before) }
        return body()
    }
}
