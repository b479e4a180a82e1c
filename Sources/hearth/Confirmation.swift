import HearthShell

/// Asks before something that cannot be taken back, as commands of the shell do.
enum Confirmation {
    /// How the command ends unless somebody at a terminal, or `--yes`, agrees; then nil.
    static func refusal(of what: String, _ arguments: Arguments, command: String) -> ExitCode? {
        if arguments.flag("yes") { return nil }
        guard ShellRun.hasTerminal else {
            StandardError.write("hearth \(command): \(what): -y says that you are sure\n")
            return .failure
        }
        do throws(ShellError) {
            if try TerminalPrompter().confirm("\(what). Go on? [y/N] ") { return nil }
        } catch {
            return .interrupted
        }
        StandardError.write("hearth \(command): nothing was done\n")
        return .failure
    }
}
