import HearthJSONValues
import HearthServerProtocol

/// Commands about those who are connected.
extension ShellCommand {
    static let sessions = group(
        "sessions", summary: "List who is connected, or end somebody's connection.", usual: "list",
        [listSessions, kick])

    private static let listSessions = ShellCommand(
        name: "list", synopsis: "[-n N] [-l]", summary: "Who is connected.",
        json: #"""
            {"count", "sessions": [{"id", "database", "from", "uid", "since", "transport", "waiting", "listens",
            "at"}…]}.
            """#,
        options: [
            .limit("so many of them at most (default 100)"),
            .init(name: "long", letter: "l", value: nil, help: "with what they listen to"),
        ]
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...0)
        let answer = try await session.ask(.sessions(limit: try arguments.count("limit", in: 1...1000)))
        let list = answer["sessions"]?.array?.compactMap(\.object) ?? []
        if session.isJSON { return try session.show(.object(answer), elements: list.map { .object($0) }) { [] } }
        let rows = list.map { entry in
            [
                entry["id"]?.text ?? "", entry["uid"]?.text ?? "-", entry["from"]?.text ?? "-",
                Moment.text(entry["since"]?.integer), entry["transport"]?.text ?? "",
                "\(ByteText(Int(clamping: entry["waiting"]?.integer ?? 0)))", entry["database"]?.text ?? "",
                "\(entry["listens"]?.integer ?? 0)",
            ]
        }
        let table = Table(
            head: ["id", "who", "from", "since", "by", "waiting", "database", "listens"], rows: rows)
        for (index, line) in table.lines(styleHead: { session.styled($0, .dim) }).enumerated() {
            try session.out.line(line)
            guard index > 0, arguments.has("long") else { continue }
            for listen in list[index - 1]["at"]?.array?.compactMap(\.object) ?? [] {
                let query = listen["query"].map { "  " + session.painter.line($0) } ?? ""
                try session.out.line("    \(session.styled(listen["path"]?.printable ?? "", .key))\(query)")
            }
        }
        let count = answer["count"]?.integer ?? 0
        if count > list.count { try session.out.line(session.styled("\(list.count) of \(count)", .dim)) }
    }

    private static let kick = ShellCommand(
        name: "kick", synopsis: "ID", summary: "End a connection. Its client may make another one.",
        json: #"{"id"}."#
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(1...1)
        let id = arguments.words[0].text
        try await session.change("end session \(id)", as: JSONObject(["id": .text(id)])) {
            () throws(ShellError) in _ = try await session.ask(.kick(session: id))
        }
    }
}
