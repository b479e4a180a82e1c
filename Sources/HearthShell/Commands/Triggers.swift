import HearthBytes
import HearthJSONTree
import HearthJSONValues
import HearthJSONWebTokens
import HearthWireProtocol

/// Events of triggers.
extension ShellCommand {
    static let triggers = ShellCommand(
        name: "triggers", synopsis: "[list [NAME]] | replay NAME [ID] | drop NAME [ID] | secret",
        summary: "Triggers, and events that their receivers did not take.",
        details: """
            list shows the triggers of the database, and the events that were set aside because they failed for
            too long. replay sends these again: all of a trigger's, or the one with the ID. drop drops them;
            with an ID also an event that waits. secret prints a new secret for the settings file.
            """,
        words: .subcommands(["list", "replay", "drop", "secret"]),
        options: [.limit("so many events at most (default 100)")], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        let words = arguments.words.map(\.text)
        switch words.first ?? "list" {
        case "list":
            try arguments.expect(0...2)
            try await session.listTriggers(
                words.count > 1 ? words[1] : nil, limit: try arguments.count("limit", in: 1...1000))
        case let wish where wish == "replay" || wish == "drop":
            try arguments.expect(2...3)
            let (name, id) = (words[1], words.count > 2 ? words[2] : nil)
            let what = id.map { "event \($0)" } ?? "the events that were set aside"
            try await session.changeEvents("\(wish) \(what) of \(name)", wish, name, id)
        case "secret":
            try arguments.expect(1...1)
            let secret =
                "whsec_" + String(decoding: Base64.standard.encode(Cryptography.randomBytes(32)), as: UTF8.self)
            try session.show(.text(secret)) { [secret] }
        case let other: throw .usage("'\(other)' is none of list, replay, drop and secret")
        }
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

    fileprivate func changeEvents(
        _ text: String, _ wish: String, _ name: String, _ id: String?
    ) async throws(ShellError) {
        var fields = JSONObject(["do": .text(wish), "trigger": .text(name)])
        if let id { fields["id"] = .text(id) }
        try await change(text, as: fields) { () throws(ShellError) in
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
