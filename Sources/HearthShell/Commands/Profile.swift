import HearthConnection
import HearthJSONTree
import HearthJSONValues
import HearthWireProtocol
import HearthClientSession

extension ShellCommand {
    static let profile = ShellCommand(
        name: "profile", synopsis: "[-n N]", summary: "Print the requests to the database as they arrive, until ^C.",
        json: #"""
            {"op", "path", "uid", "count", "us", "wait", "bytes", "denied", "failed", "unindexed"} for each line;
            times are in microseconds.
            """#,
        details: """
            A line sums up equal requests of a fifth of a second: how many, how long the database worked on them, how long they
            waited besides until their answers were complete, their bytes, who asked, what and where; and whether they were
            denied, failed, or had to do without an index. A large read is counted when it is over.
            """, options: [.limit("end after N lines")], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...0)
        let limit = try arguments.count("limit") ?? .max
        let connection = try await session.administrator()
        let texts = try await reporting { () throws(ConnectionError) in try await connection.profile() }
        let failure = await session.follow(texts, limit)
        // An interrupted command still has to say so.
        await Task { try? await connection.endProfile() }.value
        if let failure { throw failure }
    }
}

extension ShellSession {
    fileprivate func follow(_ texts: AsyncStream<[UInt8]>, _ limit: Int) async -> ShellError? {
        out.follow()
        var left = limit
        do throws(ShellError) {
            if !isJSON { try out.line(styled(ProfileLine.head, .dim)) }
            for await text in texts {
                for entry in (try? JSONValue(parsing: text))?.array?.compactMap(\.object) ?? [] {
                    try show(.object(entry)) { [ProfileLine.text(entry, self)] }
                    left -= 1
                    if left == 0 { return nil }
                }
            }
            return Task.isCancelled ? .stopped : .lost("the connection was lost")
        } catch {
            return error
        }
    }
}

private enum ProfileLine {
    static let head = columns("count", "time", "waited", "bytes", "who", "request")

    private static func columns(
        _ count: String, _ time: String, _ wait: String, _ bytes: String, _ who: String, _ rest: String
    ) -> String {
        func left(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        let name = who.count > 16 ? who.prefix(15) + "…" : who
        return [
            left(count, 6), left(time, 9), left(wait, 9), left(bytes, 9),
            name + String(repeating: " ", count: 16 - name.count), rest,
        ]
        .joined(separator: "  ")
    }

    static func text(_ entry: JSONObject, _ session: ShellSession) -> String {
        if let others = entry["others"]?.integer { return columns("\(others)", "", "", "", "", "other requests") }
        let marks = ["denied", "failed", "unindexed"].compactMap { name in
            entry[name]?.integer.map { $0 == entry["count"]?.integer ? name : "\(name): \($0)" }
        }
        let mark = marks.isEmpty ? "" : "  " + session.styled(marks.joined(separator: ", "), .error)
        func time(_ name: String) -> String {
            let microseconds = entry[name]?.integer ?? 0
            return microseconds < 10_000 ? "\(microseconds) µs" : "\(microseconds / 1000) ms"
        }
        return columns(
            "\(entry["count"]?.integer ?? 0)", time("us"), time("wait"),
            "\(ByteText(Int(clamping: entry["bytes"]?.integer ?? 0)))",
            entry["uid"]?.printable ?? "-", "\(entry["op"]?.printable ?? "") \(entry["path"]?.printable ?? "")\(mark)")
    }
}
