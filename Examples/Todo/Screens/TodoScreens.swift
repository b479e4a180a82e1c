import HearthExampleKit
import HearthClient

/// The list of the signed-in user, until they make room for another one.
@MainActor
func showEntries(of person: Person, _ account: Account, on terminal: Terminal) async throws {
    let list = TodoList(account.database, of: person)
    async let _ = list.live.follow()
    let key = try await terminal.list(
        { "To do: \(person.name)" }, { account.person == person ? list.entries ?? [] : nil },
        empty: { list.entries == nil ? "One moment…" : "Nothing to do. Press a to add something." },
        problem: { list.live.problem },
        actions: [
            .always("a", "add") {
                try await edit("New entry", date: Moment.now.date, time: "", text: "", on: terminal, save: list.add)
            },
            .onItem(.enter, "change") { entry in
                try await edit("Entry", date: entry.date, time: entry.time, text: entry.text, on: terminal) {
                    try await list.change(entry, date: $0, time: $1, text: $2)
                }
            },
            .onItem(" ", "done") { entry in
                try await terminal.perform("Saving…", isWrite: true) { try await list.setDone(entry, !entry.done) }
            },
            .onItem("d", "delete") { entry in
                guard try await terminal.confirm("Delete '\(entry.text)'?") else { return }
                try await terminal.perform("Deleting…", isWrite: true) { try await list.delete(entry) }
            },
            .signOut("s", "switch user"), .quit("q"),
        ]
    ) { entry in
        Line(entry.done ? "✓ " : "  ", .well) + Line("\(entry.date) \(entry.time)  ", .faint)
            + Line(entry.text, entry.done ? .faint : .plain)
    }
    if key == "s" { try account.signOut() }
}

@MainActor
private func edit(
    _ title: String, date: String, time: String, text: String, on terminal: Terminal,
    save: @escaping @MainActor (_ date: String, _ time: String, _ text: String) async throws -> Void
) async throws {
    let fields = [
        Field("date", "Date", text: date, kind: .date), Field("time", "Time", text: time),
        Field("text", "What", text: text),
    ]
    try await terminal.form(title, fields, isWrite: true) { values in
        try await save(values["date"] ?? "", values["time"] ?? "", values["text"] ?? "")
    }
}
