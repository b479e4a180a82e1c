/// Asks whoever sits at the terminal.
package final class TerminalPrompter: ShellPrompter {
    package init() {}

    package func confirm(_ question: String) -> Bool {
        StandardStreams.write(Terminal.harmless(question), to: 1)
        guard let answer = Terminal.line() else { return false }
        return ["y", "yes"].contains(answer.lowercased())
    }

    package func secret(_ question: String) -> String? { Terminal.secret(question) }
}
