import HearthJSONTree
import HearthJSONValues
import HearthServerProtocol

extension ShellCommand {
    static let logs = ShellCommand(
        name: "logs", alias: "log", synopsis: "[-n N] [-f]", summary: "Print the last lines of the server's log.",
        json: #"the lines as strings."#,
        options: [
            .limit("so many lines (default 20)"),
            .init(name: "follow", letter: "f", value: nil, help: "then print each new line, until ^C"),
        ], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...0)
        let limit = try arguments.count("limit", in: 1...LogTail.linesMax) ?? 20
        guard arguments.has("follow") else {
            let lines = try await session.logLines(limit)
            return try session.show(.array(lines)) { lines.compactMap(\.printable) }
        }
        session.out.follow()
        var tail = LogTail()
        var lines = tail.add(try await session.logLines(LogTail.linesMax)).suffix(limit)
        while true {
            for line in lines { try session.show(line) { [line.printable ?? ""] } }
            do { try await Task.sleep(for: .seconds(1)) } catch { throw .stopped }
            lines = tail.add(try await session.logLines(LogTail.linesMax))[...]
        }
    }
}

extension ShellSession {
    /// The last lines of the server's log, the newest last.
    fileprivate func logLines(_ limit: Int) async throws(ShellError) -> [JSONValue] {
        try await ask(.log(limit: limit))["lines"]?.array ?? []
    }
}

/// Finds the new lines among the last lines of a log, which a server shows again and again.
struct LogTail {
    /// As many lines as a server shows at once.
    static let linesMax = 1000

    private var seen: [JSONValue] = []

    /// The lines that came after all those of the call before. If more came than are shown, some are missing.
    mutating func add(_ lines: [JSONValue]) -> [JSONValue] {
        defer { seen = lines }
        let most = min(seen.count, lines.count)
        let known = (0...most).reversed().first { lines.prefix($0).elementsEqual(seen.suffix($0)) } ?? 0
        return Array(lines.dropFirst(known))
    }
}
