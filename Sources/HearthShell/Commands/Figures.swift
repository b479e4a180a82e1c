import HearthJSONTree
import HearthJSONValues
import HearthServerProtocol

/// The figures of a server.
extension ShellCommand {
    static let stats = ShellCommand(
        name: "stats", summary: "Figures of the server and its databases.",
        json: #"the figures of the server, with {"name", "requests", "listeners"…} of each of its "databases"."#,
        runsAlone: true
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
