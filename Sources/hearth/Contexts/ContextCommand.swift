import Glibc
import HearthShell

extension Command {
    static let context = Command(
        name: "context", synopsis: "add NAME [OPTIONS] | use NAME | list | remove NAME",
        summary: "Give servers, and the keys for them, names that commands use.",
        details: """
            add      remembers --url, --key, --ca and --database under NAME
            use      makes NAME the context of all commands that name no server and no credential
            list     a line for each: the current one has a *
            remove   forgets NAME

            --context NAME is a command's own context. The files of keys stay where they are. The names are kept in
            ~/.config/hearth/contexts.json, or in the file of HEARTH_CONTEXTS.
            """,
        options: [
            .init(name: "url", value: "URL", help: "add: the server (default: that of --key)"),
            .init(name: "key", value: "FILE", help: "add: an administrator's key, of 'hearth admin create-key'"),
            .init(name: "ca", value: "FILE", help: "add: the authorities to trust over TLS, as PEM"),
            .init(name: "database", value: "NAME", help: "add: the database"),
        ]
    ) { arguments throws(UsageError) in
        guard let path = ContextFile.usualPath else {
            throw UsageError(message: "there is no home: HEARTH_CONTEXTS names the file of contexts")
        }
        do throws(ContextFile.Failure) {
            var file = try ContextFile(path)
            switch (arguments.positional.first, arguments.positional.count) {
            case ("add", 2):
                let name = arguments.positional[1]
                guard !name.isEmpty, !name.contains("/"), !name.contains(where: \.isWhitespace) else {
                    throw ContextFile.Failure(description: "a name has no spaces and no slashes: '\(name)'")
                }
                let context = try newContext(arguments)
                try file.add(name, context)
            case ("use", 2): try file.use(arguments.positional[1])
            case ("remove", 2): try file.remove(arguments.positional[1])
            case ("list", 1):
                for (name, context) in file.contexts {
                    let options = context.map { "--\($0.option) \($0.value)" }.joined(separator: " ")
                    StandardOutput.line("\(file.current == name ? "*" : " ") \(name)  \(options)")
                }
            default: throw ContextFile.Failure(description: "needs add NAME, use NAME, list or remove NAME")
            }
            return .success
        } catch {
            throw UsageError(message: error.description, hasHelp: false)
        }
    }

    /// What the options say. A key must be there, and be one for the server of the URL.
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
