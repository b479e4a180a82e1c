import HearthClientSession
import HearthConnection
import HearthJSONTree
import HearthJSONValues
import HearthSystem
import HearthWireProtocol

/// Commands that look at the past of places whose history is kept, and bring it back.
extension ShellCommand {
    package static let aboutMoments = """
        A moment is @NUMBER (an operation of the history), a time like 2026-11-22T03:15:00Z, or how long ago: 10m, 3h, 2d.
        The settings say of which places the history is kept (.history).
        """

    static let diff = ShellCommand(
        name: "diff", synopsis: "PATH MOMENT [MOMENT] [-n N]",
        summary: "Show where a value differs from what it was, or differed at two moments.",
        json: #"""
            {"from", "to", "changes": [{"path", "before", "after"}…], "more"}. What was not there has no member.
            """#,
        details: aboutMoments, words: .path, options: [.limit("so many places (default 1000)")], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(2...3)
        let path = try session.path(arguments.words.first)
        let from = try session.moment(arguments.words[1], arguments)
        let to = try arguments.words.dropFirst(2).first.map { (word) throws(ShellError) in
            try session.moment(word, arguments)
        }
        let command = HistoryRequest.Command.difference(from: from, to: to, limit: try arguments.count("limit"))
        let answer = try await session.past(path, command)
        guard let object = (try? JSONValue(parsing: answer))?.object else { throw ShellSession.misunderstood }
        try session.show(.object(object)) { session.lines(ofDifferences: object) }
    }

    static let revert = ShellCommand(
        name: "revert", synopsis: "PATH MOMENT [-y]", summary: "Set a place to what it was at a moment.",
        json: #"{"revert": PATH}."#,
        details: aboutMoments + "\n" + "It is an ordinary write, which the history has too.", words: .path,
        options: [.yes], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(2...2)
        let path = try session.path(arguments.words.first)
        let moment = try session.moment(arguments.words[1], arguments)
        try await session.confirmLoss(of: path, "replace")
        let text = "revert \(path) to \(arguments.words[1].text)"
        try await session.change(text, as: JSONObject(["revert": .text("\(path)")])) { () async throws(ShellError) in
            _ = try await session.past(path, .restore(moment))
        }
    }
}

extension HistoryRequest.Moment {
    /// Reads `@4711`, a time, or how long ago.
    package init?(parsing text: String) {
        let units: [Character: Int64] = ["m": 60_000, "h": 3_600_000, "d": 86_400_000]
        if text.hasPrefix("@"), let number = UInt64(text.dropFirst()) {
            self = .sequence(number)
        } else if let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
            (0...100_000).contains(count)
        {
            self = .time(WallClock.milliseconds - count * unit)
        } else if let time = Timestamp(parsing: text) {
            self = .time(time.milliseconds)
        } else {
            return nil
        }
    }

    /// As a parameter of a request over HTTP (rest.md 9).
    package var query: String {
        switch self {
        case .time(let time): "at=\(time)"
        case .sequence(let number): "seq=\(number)"
        }
    }
}

extension ShellSession {
    static let misunderstood = ShellError.failed("the server answers what this shell does not understand")

    /// The server's answer, as JSON text. Without a credential it is asked as an administrator, whom a server in
    /// development mode takes at their word.
    func past(_ path: Path, _ command: HistoryRequest.Command) async throws(ShellError) -> [UInt8] {
        let request = HistoryRequest(path, command)
        guard target.credential == nil, acting == nil else {
            return try await asking { (connection) throws(ConnectionError) in try await connection.history(request) }
        }
        do throws(ConnectionError) { return try await administratorConnection().history(request) } catch {
            throw described(error)
        }
    }

    /// `@4711`, a time, or how long ago.
    func moment(_ word: Word, _ arguments: ShellArguments) throws(ShellError) -> HistoryRequest.Moment {
        guard let moment = HistoryRequest.Moment(parsing: word.text) else {
            throw arguments.misused("'\(word.text)' is not a moment")
        }
        return moment
    }

    fileprivate func lines(ofDifferences answer: JSONObject) -> [String] {
        let changes = (answer["changes"]?.array ?? []).compactMap(\.object)
        if changes.isEmpty { return [styled("no difference", .dim)] }
        let lines = changes.map { change in
            let before = change["before"].map { painter.line($0) } ?? styled("nothing", .dim)
            let after = change["after"].map { painter.line($0) } ?? styled("nothing", .dim)
            return "\(styled(change["path"]?.printable ?? "", .key))  \(before) → \(after)"
        }
        let more = answer["more"]?.integer.map { [styled("and \($0) more", .dim)] } ?? []
        return lines + more
    }
}
