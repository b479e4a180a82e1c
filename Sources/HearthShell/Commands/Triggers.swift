import HearthBytes
import HearthJSONTree
import HearthJSONValues
import HearthJSONWebTokens
import HearthServerProtocol

/// Events of triggers.
extension ShellCommand {
    static let triggers = group(
        "triggers", summary: "Triggers, and events that their receivers did not take.",
        details: """
            Events that failed for too long are set aside, until they are sent again or dropped.
            """, usual: "list", [listTriggers, replayEvents, dropEvents, secret])

    private static let listTriggers = ShellCommand(
        name: "list", synopsis: "[NAME] [-n N]",
        summary: "The triggers of the database, and the events that were set aside: of all triggers, or of one.",
        json: #"""
            {"triggers": [{"name", "on", "path", "target", "waiting", "aside", "delivered", "failures"…}…],
            "events": [{"id", "trigger", "time", "type", "path", "failure"}…]}.
            """#,
        options: [.limit("so many events at most (default 100)")]
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        try await session.listTriggers(
            arguments.words.first?.text, limit: try arguments.count("limit", in: 1...1000))
    }

    private static let replayEvents = ShellCommand(
        name: "replay", synopsis: "NAME [ID]",
        summary: "Send the events of a trigger that were set aside again: all, or the one with the ID.",
        json: #"{"do", "trigger", "id"}."#
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(1...2)
        try await session.changeEvents(arguments)
    }

    private static let dropEvents = ShellCommand(
        name: "drop", synopsis: "NAME [ID] [-y]",
        summary: "Drop the events of a trigger that were set aside: all, or the one with the ID.",
        json: #"{"do", "trigger", "id"}."#,
        details: "An event with an ID may also be one that waits.", options: [.yes]
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(1...2)
        if arguments.words.count == 1 {
            let what = "drop all events of \(arguments.words[0].text) that were set aside"
            try session.confirm(what)
        }
        try await session.changeEvents(arguments)
    }

    private static let secret = ShellCommand(
        name: "secret", summary: "Print a new secret for the settings file. No server is asked.",
        json: #"the secret as a string."#
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...0)
        let secret = "whsec_" + String(decoding: Base64.standard.encode(Cryptography.randomBytes(32)), as: UTF8.self)
        try session.show(.text(secret)) { [secret] }
    }
}

extension ShellSession {
    fileprivate func listTriggers(_ name: String?, limit: Int?) async throws(ShellError) {
        let answer = try await ask(.triggers(wish: "list", name: name, id: nil, limit: limit))
        let triggers = answer["triggers"]?.array?.compactMap(\.object) ?? []
        let events = answer["events"]?.array?.compactMap(\.object) ?? []
        try show(.object(answer)) {
            func number(_ name: String, _ object: JSONObject) -> String { "\(object[name]?.integer ?? 0)" }
            let rows = triggers.map { trigger in
                [
                    trigger["name"]?.text ?? "", trigger["on"]?.text ?? "", trigger["path"]?.text ?? "",
                    number("waiting", trigger), number("aside", trigger), number("delivered", trigger),
                    number("failures", trigger), trigger["target"]?.text ?? "", trigger["lastFailure"]?.text ?? "",
                ]
            }
            let head = ["trigger", "on", "path", "waiting", "aside", "delivered", "failures", "target", "last failure"]
            var lines = Table(head: head, rows: rows).lines { styled($0, .dim) }
            if events.isEmpty { return lines }
            let list = events.map { event in
                [
                    event["id"]?.text ?? "", event["trigger"]?.text ?? "", Moment.text(event["time"]?.integer),
                    event["type"]?.text ?? "", event["path"]?.text ?? "", event["failure"]?.text ?? "",
                ]
            }
            lines.append("")
            lines += Table(head: ["set aside", "trigger", "time", "type", "path", "failure"], rows: list).lines {
                styled($0, .dim)
            }
            return lines
        }
    }

    /// The request of the subcommand, with the named events.
    fileprivate func changeEvents(_ arguments: ShellArguments) async throws(ShellError) {
        let wish = arguments.command
        let name = arguments.words[0].text
        let id = arguments.words.count > 1 ? arguments.words[1].text : nil
        let what = id.map { "event \($0)" } ?? "the events that were set aside"
        var fields = JSONObject(["do": .text(wish), "trigger": .text(name)])
        if let id { fields["id"] = .text(id) }
        try await change("\(wish) \(what) of \(name)", as: fields) { () throws(ShellError) in
            var count: Int64 = 0
            while true {
                let answer = try await ask(.triggers(wish: wish, name: name, id: id, limit: nil))
                let done = answer["count"]?.integer ?? 0
                count += done
                guard case .bool(true)? = answer["more"], done > 0 else { break }
            }
            if id != nil, count == 0 { throw .failed("there is no such event, or it is being sent") }
        }
    }
}
