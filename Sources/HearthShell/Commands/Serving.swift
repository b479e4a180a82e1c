import HearthJSONTree
import HearthJSONValues
import HearthWireProtocol

/// Commands about the server.
extension ShellCommand {
    static let sessions = ShellCommand(
        name: "sessions", synopsis: "[-n N] [-l] | kick ID", summary: "Who is connected; or end somebody's connection.",
        words: .subcommands(["kick"]),
        options: [
            .limit("so many of them at most (default 100)"),
            .init(name: "long", letter: "l", value: nil, help: "with what they listen to"),
        ], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        if arguments.words.first?.text == "kick" {
            try arguments.expect(2...2)
            let id = arguments.words[1].text
            return try await session.change("end session \(id)", as: JSONObject(["id": .text(id)])) {
                () throws(ShellError) in _ = try await session.ask(.kick(session: id))
            }
        }
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

    static let stats = ShellCommand(
        name: "stats", summary: "Figures of the server and its databases.", runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...0)
        let figures = try await session.ask(.statistics)
        try session.show(.object(figures)) { session.lines(ofFigures: figures) }
    }
}

extension ShellSession {
    func lines(ofFigures figures: JSONObject) -> [String] {
        func number(_ name: String, in object: JSONObject? = nil) -> Int64 { (object ?? figures)[name]?.integer ?? 0 }
        func bytes(_ name: String, in object: JSONObject? = nil) -> String {
            "\(ByteText(Int(clamping: number(name, in: object))))"
        }
        let seconds = (figures["cpu"].flatMap { if case .double(let value) = $0 { value } else { nil } } ?? 0) * 10
        var lines = [
            "up        \(Moment.duration(number("uptime")))",
            "clients   sessions \(number("sessions")), event streams \(number("eventStreams")), "
                + "connections \(number("connections"))",
            "memory    \(bytes("memory")), requests in flight \(bytes("requestBytes"))",
            "cpu       \(seconds.rounded() / 10) s, \(number("loops")) event loops", "",
        ]
        let databases = figures["databases"]?.array?.compactMap(\.object) ?? []
        let rows = databases.map { entry in
            [
                entry["name"]?.text ?? "", "\(number("sequence", in: entry))", "\(number("durable", in: entry))",
                "\(number("requests", in: entry))", "\(number("listeners", in: entry))", bytes("resident", in: entry),
                bytes("changed", in: entry), "\(number("held", in: entry))", entry["refuses"]?.text ?? "",
            ]
        }
        let head = ["database", "sequence", "durable", "requests", "listeners", "resident", "changed", "held", ""]
        lines += Table(head: head, rows: rows).lines { styled($0, .dim) }
        return lines
    }
}
