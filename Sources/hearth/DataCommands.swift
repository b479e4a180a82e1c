import Glibc
import HearthClient
import HearthShell
import JSONTree
import WireProtocol

extension Command {
    static let get = Command(
        name: "get", synopsis: "PATH [OPTIONS]", summary: "Print the value at a path.",
        details: """
            PATH is /like/this; / is the whole database. A value that is not there is null. Priorities are shown as
            .priority. On a terminal the value is laid out in lines, otherwise it is one line.

            """ + QueryOptions.details,
        options: ServerAddress.options + QueryOptions.options + [
            .init(name: "json", value: nil, help: "one line, also on a terminal"),
            .init(name: "shallow", value: nil, help: "the keys of an object alone, each with true"),
        ]
    ) { arguments throws(UsageError) in
        let words = try arguments.positional("PATH")
        let run = try ClientRun("get", arguments)
        let path = try run.address.path(words[0])
        let query = try QueryOptions.query(arguments)
        let isPretty = !arguments.flag("json") && isatty(STDOUT_FILENO) == 1
        if arguments.flag("shallow") {
            guard query == nil else { throw UsageError(message: "--shallow and a query do not go together") }
            return try shallow(ClientRun("get", arguments, at: words[0]), isPretty: isPretty)
        }
        return run { connection throws(ConnectionError) in
            var text = try await connection.get(path, query: query).bytes
            if isPretty { text = JSONLayout(isPretty: true).text(text) } else { text.append(UInt8(ascii: "\n")) }
            StandardOutput.write(text)
        }
    }

    /// The server reads the keys without the values, however large these are (rest.md 2).
    private static func shallow(_ run: ClientRun, isPretty: Bool) throws(UsageError) -> ExitCode {
        run.onLoop { loop throws(ConnectionError) in
            let call = try await run.request(query: "shallow=true", on: loop)
            let text = try await call.answer(on: loop, options: run.address.options)
            StandardOutput.write(isPretty ? JSONLayout(isPretty: true).text(text) : text + Array("\n".utf8))
            return .success
        }
    }

    /// What the writing commands take for JSON.
    private static let aboutJSON = """
        JSON is checked before anything is sent; - reads it from standard input. Null removes.
        {".sv":"timestamp"} is the server's time, {".sv":{"increment":N}} adds N to what is there.
        """

    static let set = Command(
        name: "set", synopsis: "PATH JSON|- [OPTIONS]", summary: "Replace the value at a path.",
        details: aboutJSON + "\nA PATH that ends in /.priority sets the priority alone.", options: ServerAddress.options
    ) { arguments throws(UsageError) in
        let words = try arguments.positional("PATH", "JSON")
        let run = try ClientRun("set", arguments)
        let target = try run.address.target(words[0])
        let value = try InputText(words[1]).value(for: target)
        return run { connection throws(ConnectionError) in try await connection.set(target, to: value) }
    }

    static let push = Command(
        name: "push", synopsis: "PATH JSON|- [OPTIONS]",
        summary: "Add a child with a new key that sorts last, and print the key.", details: aboutJSON,
        options: ServerAddress.options + [.init(name: "json", value: nil, help: "print {\"name\":KEY}")]
    ) { arguments throws(UsageError) in
        let words = try arguments.positional("PATH", "JSON")
        let run = try ClientRun("push", arguments)
        let path = try run.address.path(words[0])
        guard path.depth < Path.maximumDepth else {
            throw UsageError(message: "invalid path '\(words[0])': \(PathError.tooDeep)")
        }
        // Only the depth of the place matters for what may stand there.
        let value = try InputText(words[1]).value(for: WriteTarget(path: path.appending(Key(0))))
        let isJSON = arguments.flag("json")
        return run { connection throws(ConnectionError) in
            let key = try await connection.push(value, to: path)
            StandardOutput.line(isJSON ? "{\"name\":\"\(key)\"}" : "\(key)")
        }
    }

    static let update = Command(
        name: "update", synopsis: "PATH JSON|- [OPTIONS]",
        summary: "Replace several values at or below a path at once.",
        details: """
            JSON is an object: each key is a path relative to PATH, such as "a" or "a/b", and its value replaces what is
            there; what it does not name stays. Either everything is written or nothing.

            """ + aboutJSON,
        options: ServerAddress.options
    ) { arguments throws(UsageError) in
        let words = try arguments.positional("PATH", "JSON")
        let run = try ClientRun("update", arguments)
        let base = try run.address.path(words[0])
        let assignments = try InputText(words[1]).assignments(base: base)
        return run { connection throws(ConnectionError) in try await connection.update(base, assignments) }
    }

    static let remove = Command(
        name: "remove", synopsis: "PATH [OPTIONS]", summary: "Remove what is at and below a path.",
        options: ServerAddress.options
    ) { arguments throws(UsageError) in
        let words = try arguments.positional("PATH")
        let run = try ClientRun("remove", arguments)
        let path = try run.address.path(words[0])
        run.announce("remove \(path)")
        return run { connection throws(ConnectionError) in try await connection.remove(path) }
    }
}
