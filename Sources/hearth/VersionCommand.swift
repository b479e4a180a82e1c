import HearthShell
import HearthSystem

extension Command {
    static let version = Command(name: "version", synopsis: "", summary: "Print the version.", options: []) {
        arguments throws(UsageError) in
        _ = try arguments.positional()
        StandardOutput.line("hearth \(Version.current)")
        return .success
    }
}
