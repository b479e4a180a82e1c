import Glibc

/// Shows output page by page: a screen, then a key for more. The next page is made only on request. With `PAGER` set,
/// that program gets output that does not fit on one screen.
final class Pager: @unchecked Sendable {
    // Safe because: one command at a time writes.

    private let program: String?
    /// Rows of the terminal that are used since the last page.
    private var rows = 0
    /// The buffered output, to see whether it fits, for a program.
    private var held = ""
    private var pipe: UnsafeMutablePointer<FILE>?
    private var showsAll = false

    init() { program = getenv("PAGER").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } }

    func begin() {
        (rows, held, showsAll) = (0, "", false)
    }

    /// No pages for the rest of the command.
    func follow() { showsAll = true }

    func write(_ text: String) throws(ShellError) {
        if let pipe { return try write(text, to: pipe) }
        for line in text.lines.dropLast() {
            try write(line: line)
        }
    }

    private func write(line: String) throws(ShellError) {
        guard let size = Terminal.size, !showsAll else { return show("\(line)\n") }
        let taken = max(1, (ScreenText(line).width + size.columns - 1) / size.columns)
        if rows + taken > size.rows - 1, rows > 0 {
            if let program { return try start(program, with: "\(line)\n") }
            try turn(size)
        }
        rows += taken
        if program == nil { show("\(line)\n") } else { held += "\(line)\n" }
    }

    private func show(_ text: String) { StandardOutput.control(text) }

    /// Waits for a key at the end of a page.
    private func turn(_ size: Terminal.Size) throws(ShellError) {
        let prompt = "\r" + Style.dim("-- more: space, one line: enter, all: a, enough: q --", true)
        defer { show("\r\u{1B}[K") }
        while true {
            switch Terminal.key(prompt) {
            case UInt8(ascii: " "), UInt8(ascii: "f"): rows = 0
            case 0x0A, 0x0D, UInt8(ascii: "j"): rows = max(0, rows - 1)
            case UInt8(ascii: "a"), UInt8(ascii: "G"): showsAll = true
            case nil, UInt8(ascii: "q"), UInt8(ascii: "Q"), 0x03, 0x04, 0x1B: throw .stopped
            default: continue
            }
            return
        }
    }

    // MARK: Another program

    private func start(_ program: String, with text: String) throws(ShellError) {
        pipe = popen(program, "w")
        guard let pipe else { throw .failed("cannot run \(program)") }
        let first = held
        held = ""
        try write(first + text, to: pipe)
    }

    private func write(_ text: String, to pipe: UnsafeMutablePointer<FILE>) throws(ShellError) {
        // It fails when the program has ended.
        guard fputs(text, pipe) >= 0, fflush(pipe) == 0 else { throw .stopped }
    }

    /// The output is complete: waits until a program that shows it has ended.
    func end() {
        show(held)
        held = ""
        if let pipe { pclose(pipe) }
        pipe = nil
    }
}
