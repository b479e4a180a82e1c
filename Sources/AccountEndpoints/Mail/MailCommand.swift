import HearthSystem

/// A shell command that sends a mail, which it finds at its standard input; `HEARTH_MAIL_TO` has the address.
struct MailCommand {
    private let command: String
    private static let secondsMax = 30

    init(_ command: String) { self.command = command }

    func run(_ message: String, recipient: String) throws(MailError) {
        let shell = PipedCommand("/bin/sh", ["-c", command], environment: ["HEARTH_MAIL_TO=\(recipient)"])
        do throws(PipedCommand.Failure) {
            try shell.run(Array(message.utf8), secondsMax: Self.secondsMax)
        } catch {
            throw MailError(reason: error.description)
        }
    }
}
