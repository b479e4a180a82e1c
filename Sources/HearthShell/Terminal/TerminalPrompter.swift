/// Asks the user at the terminal.
package final class TerminalPrompter: ShellPrompter {
    package init() {}

    package func confirm(_ question: String) throws(ShellError) -> Bool {
        guard let answer = try Terminal.line(Terminal.harmless(question)) else { return false }
        return ["y", "yes"].contains(answer.lowercased())
    }

    package func secret(_ question: String) throws(ShellError) -> String {
        guard let answer = try Terminal.line(question, isShown: false) else { throw .failed("nothing was done") }
        return answer
    }
}
