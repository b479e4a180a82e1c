import Glibc
import HearthJSONValues
import HearthShell

extension Command {
    static let context = group(
        "context", summary: "Give servers, and the keys for them, names that commands use.",
        details: """
            --context NAME is a command's own context. The files of keys stay where they are. The names are kept in
            ~/.config/hearth/contexts.json, or in the file of HEARTH_CONTEXTS.
            """,
        [
            Command(
                name: "add", synopsis: "NAME [OPTIONS]", summary: "Remember a server, and a key for it, under a name.",
                options: [
                    .init(name: "url", value: "URL", help: "the server (default: that of --key)"),
                    .init(name: "key", value: "FILE", help: "an administrator's key, of 'hearth admin create-key'"),
                    .init(name: "ca", value: "FILE", help: "the authorities to trust over TLS, as PEM"),
                    .init(name: "database", value: "NAME", help: "the database"),
                ]
            ) { arguments throws(UsageError) in
                let name = try arguments.positional("NAME")[0]
                return try changeContexts { (file) throws(ContextFile.Failure) in
                    guard !name.isEmpty, !name.contains("/"), !name.contains(where: \.isWhitespace) else {
                        throw ContextFile.Failure(description: "a name has no spaces and no slashes: '\(name)'")
                    }
                    try file.add(name, try newContext(arguments))
                }
            },
            Command(
                name: "use", synopsis: "NAME",
                summary: "Make it the context of all commands that name no server and no credential.", options: []
            ) { arguments throws(UsageError) in
                let name = try arguments.positional("NAME")[0]
                return try changeContexts { (file) throws(ContextFile.Failure) in try file.use(name) }
            },
            Command(
                name: "list", synopsis: "", summary: "A line for each context: the current one has a *.",
                json: #"{"name", "current": BOOL} with the options of the context, for each."#,
                options: Arguments.Option.output
            ) { arguments throws(UsageError) in
                _ = try arguments.positional()
                let output = try ProgramOutput(arguments)
                return try changeContexts { (file) throws(ContextFile.Failure) in
                    output.show(
                        file.contexts.map { (name, context) in
                            let isCurrent = file.current == name
                            let options = context.map { "--\($0.option) \($0.value)" }.joined(separator: " ")
                            var json = JSONObject(["name": .text(name), "current": .bool(isCurrent)])
                            for (option, value) in context { json[option] = .text(value) }
                            return (json, "\(isCurrent ? "*" : " ") \(name)  \(options)")
                        })
                }
            },
            Command(name: "remove", synopsis: "NAME", summary: "Forget a context.", options: []) {
                arguments throws(UsageError) in
                let name = try arguments.positional("NAME")[0]
                return try changeContexts { (file) throws(ContextFile.Failure) in try file.remove(name) }
            },
        ])

    /// Opens the file of contexts for work on it.
    private static func changeContexts(
        _ body: (inout ContextFile) throws(ContextFile.Failure) -> Void
    ) throws(UsageError) -> ExitCode {
        guard let path = ContextFile.usualPath else {
            throw UsageError(message: "there is no home: HEARTH_CONTEXTS names the file of contexts")
        }
        do throws(ContextFile.Failure) {
            var file = try ContextFile(path)
            try body(&file)
            return .success
        } catch {
            throw UsageError(message: error.description, hasHelp: false)
        }
    }

    /// The context of the options. A key must be there, and be one for the server of the URL.
    private static func newContext(_ arguments: Arguments) throws(ContextFile.Failure) -> ContextFile.Context {
        guard arguments["url"]?.isEmpty == false || arguments["key"]?.isEmpty == false else {
            throw ContextFile.Failure(description: "--url or --key must name the server")
        }
        do throws(UsageError) { _ = try ServerAddress(arguments) } catch {
            throw ContextFile.Failure(description: error.message)
        }
        return ContextFile.options.compactMap { option in
            guard let value = arguments[option], !value.isEmpty else { return nil }
            // A command may run in another folder.
            let isFile = option == "key" || option == "ca"
            return (option, isFile ? absolute(value) : value)
        }
    }

    private static func absolute(_ path: String) -> String {
        guard let found = realpath(path, nil) else { return path }
        defer { free(found) }
        return String(cString: found)
    }
}
