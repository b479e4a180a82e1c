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

    /// Without what a terminal may take for commands, but for the colours of ``Style``: control characters of the second kind could come from
    /// the data. (JSON has no others.)
    static func harmless(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { (0x7F...0x9F).contains($0.value) }) else { return text }
        var out = ""
        for scalar in text.unicodeScalars {
            out.unicodeScalars.append((0x7F...0x9F).contains(scalar.value) ? "\u{FFFD}" : scalar)
        }
        return out
    }

    /// The next key, without an echo and without the enter key behind it; nil at the end.
    static func key(_ prompt: String) -> UInt8? {
        withMode {
            $0.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        } do: {
            StandardStreams.write(prompt, to: STDOUT_FILENO)
            var byte: UInt8 = 0
            while true {
                let count = read(STDIN_FILENO, &byte, 1)
                if count == 1 { return byte }
                if count == 0 || errno != EINTR { return nil }
            }
        }
    }

    /// A line; nil at the end, or when it is given up.
    static func line(_ prompt: String) -> String? {
        var line = ""
        return withMode {
            $0.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        } do: {
            // Not before: what is typed earlier is shown by the terminal, too.
            StandardStreams.write(prompt, to: STDOUT_FILENO)
            while true {
                var byte: UInt8 = 0
                let count = read(STDIN_FILENO, &byte, 1)
                if count < 0, errno == EINTR { continue }
                guard count == 1, byte != 0x03, byte != 0x04 else {
                    StandardStreams.write("\n", to: STDOUT_FILENO)
                    return nil
                }
                switch byte {
                case 0x0A, 0x0D:
                    StandardStreams.write("\n", to: STDOUT_FILENO)
                    return line
                case 0x7F, 0x08:
                    if line.popLast() != nil { StandardStreams.write("\u{8} \u{8}", to: STDOUT_FILENO) }
                case 0x20..<0x7F:
                    line.unicodeScalars.append(Unicode.Scalar(byte))
                    StandardStreams.write(String(Unicode.Scalar(byte)), to: STDOUT_FILENO)
                default: break
                }
            }
        }
    }

    /// A line that is not shown while it is typed; nil at the end.
    static func secret(_ prompt: String) -> String? {
        defer { StandardStreams.write("\n", to: STDOUT_FILENO) }
        return withMode {
            $0.c_lflag &= ~tcflag_t(ECHO)
        } do: {
            StandardStreams.write(prompt, to: STDOUT_FILENO)
            return readLine()
        }
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
