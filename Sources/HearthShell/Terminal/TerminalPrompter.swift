/// Asks whoever sits at the terminal.
package final class TerminalPrompter: ShellPrompter {
    package init() {}

    package func confirm(_ question: String) -> Bool {
        guard let answer = Terminal.line(Terminal.harmless(question)) else { return false }
        return ["y", "yes"].contains(answer.lowercased())
    }

    package func secret(_ question: String) -> String? { Terminal.line(question, isShown: false) }
}
