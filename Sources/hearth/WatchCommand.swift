import EventLoop
import HearthClient
import HearthServer
import JSONTree

extension Command {
    static let watch = Command(
        name: "watch", synopsis: "PATH [OPTIONS]",
        summary: "Print the value at a path, or what a query selects of it, then every change, as they come.",
        details: """
            Each change is one line: what happened, where, and the new value.

              set /a/b {"c":1}           the value there is now this one; null if it was removed
              update /a {"b":2,"c/d":3}  several values at or below a path changed at once

            \(QueryOptions.details) A child that is not selected any more is set to null, one that comes in
            is set as a whole.

            Ends on SIGINT (Ctrl-C), and with exit code 69 when the connection is lost.
            """,
        options: ServerAddress.options + QueryOptions.options + [
            .init(name: "json", value: nil, help: "each line is {\"type\":…,\"path\":…,\"value\":…}"),
            .init(name: "time", value: nil, help: "begin each line with the time"),
        ]
    ) { arguments throws(UsageError) in
        let words = try arguments.positional("PATH")
        let run = try ClientRun("watch", arguments)
        let path = try run.address.path(words[0])
        let query = try QueryOptions.query(arguments)
        let line = ChangeLine(isJSON: arguments.flag("json"), hasTime: arguments.flag("time"))
        return run(endsOnSignal: true) { connection throws(ConnectionError) in
            for try await change in try await connection.listen(path, query: query) {
                StandardOutput.write(line.text(of: change))
            }
        }
    }
}

/// A change as one line of text.
struct ChangeLine: Sendable {
    var isJSON: Bool
    var hasTime: Bool

    func text(of change: Change) -> [UInt8] {
        var place: [UInt8]
        var value: [UInt8] = []
        let type: StaticString
        switch change {
        case .set(let assignment):
            type = "set"
            place = [UInt8(ascii: "/")] + assignment.target.text
            value = assignment.value.bytes
        case .update(let base, let assignments):
            type = "update"
            place = [UInt8(ascii: "/")] + base.text
            value.append(UInt8(ascii: "{"))
            for (index, assignment) in assignments.enumerated() {
                if index > 0 { value.append(UInt8(ascii: ",")) }
                var relative = assignment.target
                relative.path = relative.path.dropFirst(bytes: base.encoded.count)
                JSONText.appendQuoted(relative.text, to: &value)
                value.append(UInt8(ascii: ":"))
                value += assignment.value.bytes
            }
            value.append(UInt8(ascii: "}"))
        }
        return line("\(type)", place, value)
    }

    private func line(_ type: String, _ place: [UInt8], _ value: [UInt8]) -> [UInt8] {
        let time = hasTime ? "\(Timestamp(milliseconds: WallClock.milliseconds))" : ""
        guard isJSON else {
            return Array("\(hasTime ? time + " " : "")\(type) ".utf8) + place + " ".utf8 + value + "\n".utf8
        }
        var text = Array("{\(hasTime ? "\"time\":\"\(time)\"," : "")\"type\":\"\(type)\",\"path\":".utf8)
        JSONText.appendQuoted(place, to: &text)
        return text + ",\"value\":".utf8 + value + "}\n".utf8
    }
}
