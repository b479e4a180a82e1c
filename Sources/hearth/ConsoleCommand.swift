import HearthJSONValues
import HearthShell
import HearthServer
import HearthSystem
import HearthConnection

extension Command {
    static let console = Command(
        name: "console", synopsis: "[--key FILE | --context NAME] [OPTIONS]",
        summary: "Print a link that opens the console in a browser, signed in.",
        json: #"{"url"}."#,
        details: """
            The link leads to the server that FILE names, a key of 'hearth admin create-key'; without --key to that of the
            context. It is good once, for two minutes: do not pass it on. Whoever has opened it is an administrator for as
            long as the page stays open, up to twelve hours. In development mode no link is needed: open
            http://127.0.0.1:9000/console/.
            """,
        options: [
            .init(name: "key", value: "FILE", help: "the administrator's key"),
            .init(name: "context", value: "NAME", help: "a context of 'hearth context add', with its key"),
            .init(
                name: "url", value: "URL",
                help: "how the browser reaches the administrators' listener (default: the key's)"
            ),
        ] + Arguments.Option.output
    ) { arguments throws(UsageError) in
        _ = try arguments.positional()
        let output = try ProgramOutput(arguments)
        let arguments = arguments.filled(try ServerAddress.context(arguments, isServerNamed: false))
        guard let file = arguments["key"], !file.isEmpty else {
            throw UsageError(message: "--key FILE names the key of an administrator, of 'hearth admin create-key'")
        }
        let text = try UsageError.of { () throws(ShellError) in try InputFile.contents(of: file) }
        do {
            let key = try ServiceAccountKey(text)
            let url = arguments["url"] ?? ""
            let server = url.isEmpty ? key.server : origin(of: url)
            let code = try key.oneTimeCode()
            let link = "\(server)/console/#code=\(code)"
            output.show(JSONObject(["url": .text(link)]), [link])
            return .success
        } catch {
            StandardError.write("hearth console: \(file): \(error)\n")
            return .failure
        }
    }

    /// Scheme, host and port for a browser, of a URL that may be that of a database (`HEARTH_URL`).
    private static func origin(of url: String) -> String {
        let parts = (url.hasPrefix("ws") ? "http" + url.dropFirst(2) : url).split(
            separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.prefix(3).joined(separator: "/")
    }
}
