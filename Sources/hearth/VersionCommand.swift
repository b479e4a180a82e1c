import HearthJSONValues
import HearthShell
import HearthSystem

extension Command {
    static let version = Command(
        name: "version", synopsis: "", summary: "Print the version.", json: #"{"version"}."#,
        options: Arguments.Option.output
    ) { arguments throws(UsageError) in
        _ = try arguments.positional()
        try ProgramOutput(arguments).show(
            JSONObject(["version": .text(Version.current)]), ["hearth \(Version.current)"])
        return .success
    }
}
