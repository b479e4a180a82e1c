import Glibc
import HearthSystem
import Synchronization

/// Where the shell writes.
package protocol ShellOutput: AnyObject, Sendable {
    /// Whether colours are shown.
    var isColoured: Bool { get }

    /// The columns of a terminal; nil if it is not a terminal.
    var columns: Int? { get }

    /// A command begins.
    func begin()

    /// Later output of the command is printed as it happens: it is not held up at the end of a page.
    func follow()

    /// Makes an empty screen of a terminal, for a page that replaces the one before.
    func clear()

    /// Writes whole lines. Waits for somebody who reads page by page, and throws ``ShellError/stopped`` when they have
    /// seen enough.
    func write(_ text: String) throws(ShellError)

    /// The command has ended.
    func end()

    /// For errors.
    func writeError(_ text: String)
}

extension ShellOutput {
    func clear() {}

    func line(_ text: String) throws(ShellError) { try write(text + "\n") }
}

/// Standard output and standard error. On a terminal long output comes in pages.
package final class StandardStreams: ShellOutput {
    package let isColoured: Bool
    private let pager: Pager?
    private let state = Mutex<(action: (@Sendable () -> Void)?, isWatched: Bool)>((nil, false))

    /// - parameter pages: somebody is there to turn them.
    package init(pages: Bool) {
        let plain = ["dumb", nil].contains(getenv("TERM").map { String(cString: $0) }) || getenv("NO_COLOR") != nil
        isColoured = StandardOutput.isTerminal && !plain
        pager = StandardOutput.isTerminal && pages ? Pager() : nil
    }

    package var columns: Int? { Terminal.size?.columns }

    package func begin() { pager?.begin() }

    package func follow() {
        pager?.follow()
        watchReader()
    }

    /// - parameter action: called when the reader of the pipe has closed it while a command prints events.
    package func onAbandoned(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.action = action } }

    /// Waits for the end of the pipe's reader. Without that, a command which has nothing to write would not see it.
    private func watchReader() {
        let isWatched = state.withLock { state in
            defer { state.isWatched = true }
            return state.isWatched
        }
        if isWatched || !StandardOutput.isPipe { return }
        _ = try? NamedThread(name: "reader") { [self] in
            guard StandardOutput.waitForAbandonment() else { return }
            state.withLock { $0.action }?()
        }
    }

    package func clear() { if StandardOutput.isTerminal { StandardOutput.control("\u{1B}[H\u{1B}[2J") } }

    package func write(_ text: String) throws(ShellError) {
        let text = StandardOutput.isTerminal ? Terminal.harmless(text) : text
        if let pager { try pager.write(text) } else { StandardOutput.control(text) }
        if StandardOutput.isAbandoned { throw .stopped }
        if let failure = StandardOutput.failure { throw .failed(failure) }
    }

    package func end() { pager?.end() }

    package func writeError(_ text: String) {
        // Colours are for people who see them.
        StandardError.write(Style.error(text.printableLines, isColoured && isatty(STDERR_FILENO) == 1) + "\n")
    }
}
