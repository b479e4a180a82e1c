import HearthClientSession
import HearthClient
import HearthJSONTree
import HearthJSONValues
import HearthServerProtocol

/// Commands about the databases of a server.
extension ShellCommand {
    static let databases = ShellCommand(
        name: "databases", summary: "The databases of the server, their sizes and where their rules come from.",
        json: #"{"databases": [{"name", "bytes", "rules", "default": BOOL}…]}."#,
        runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...0)
        let answer = try await session.ask(.databases)
        let rows = (answer["databases"]?.array ?? []).compactMap(\.object).map { entry in
            [
                (entry["name"]?.text ?? "") + (entry["default"]?.bool == true ? " (default)" : ""),
                "\(ByteText(Int(clamping: entry["bytes"]?.integer ?? 0)))", entry["rules"]?.text ?? "",
            ]
        }
        try session.show(
            .object(answer), elements: answer["databases"]?.array, table: rows, head: ["database", "files", "rules"])
    }

    static let use = ShellCommand(
        name: "use", synopsis: "[DATABASE]", summary: "Go to another database of the server, or print the current one.",
        json: #"the name as a string."#,
        details: "The place becomes /. A database that the server does not have is refused.", words: .databases
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        guard let name = arguments.words.first?.text else {
            let answer = try await session.ask(.databases)
            let standard = answer["databases"]?.array?.first { $0.object?["default"]?.bool == true }
            let database = session.target.url.database
            let current = database.isEmpty ? standard?.object?["name"]?.text ?? "" : database
            return try session.show(.text(current)) { [current] }
        }
        guard !name.isEmpty else { throw arguments.misused("the name of the database is empty") }
        try await session.use(name)
    }

    package static let backup = ShellCommand(
        name: "backup", summary: "Have the server copy the database into a file of its data folder.",
        json: #"{"file", "sequence", "rows", "bytes"}."#,
        details: """
            The file is in 'backups' of the server's data folder, and its name is printed: no other place can be named from here. 'hearth
            backup FILE', on the server's machine, writes to any. 'hearth restore' reads the file.
            """
    ) { (session, arguments) throws(ShellError) in
        guard arguments.words.isEmpty else {
            throw .usage("the server names the file: 'hearth backup FILE', on its machine, writes to any other")
        }
        if session.isDry {
            return try await session.change("copy the database", as: JSONObject()) { () throws(ShellError) in }
        }
        let answer = try await session.ask(.backup)
        try session.show(.object(answer)) {
            let bytes = ByteText(Int(clamping: answer["bytes"]?.integer ?? 0))
            return ["\(answer["file"]?.printable ?? ""): up to sequence \(answer["sequence"]?.integer ?? 0), \(bytes)"]
        }
    }
}
