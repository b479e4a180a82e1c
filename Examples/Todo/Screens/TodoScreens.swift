import HearthExampleKit
import HearthExampleTerminal
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
                let today = DatabaseTimestamp.now.date
                try await edit("New entry", date: today, time: "", text: "", on: terminal, save: list.add)
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
            .leave("s", "switch user", asks: true), .quit("q"),
        ]
    ) { entry in
        Line(entry.done ? "✓ " : "  ", .well) + Line("\(entry.date) \(entry.time)  ", .faint)
            + Line(entry.text, entry.done ? [.faint] : [])
    }
    if key == "s" { try account.signOut() }
}

@MainActor
private func edit(
    _ title: String, date: String, time: String, text: String, on terminal: Terminal,
    save: @escaping @MainActor (_ date: String, _ time: String, _ text: String) async throws -> Void
) async throws {
    let fields = [
        Field("date", "Date", text: date, kind: .picked(next: nextDay, note: Day.weekday)),
        Field("time", "Time", text: time),
        Field("text", "What", text: text),
    ]
    try await terminal.form(title, fields, isWrite: true) { values in
        try await save(values["date"] ?? "", values["time"] ?? "", values["text"] ?? "")
    }
}

/// The day so many days further; today in place of no day.
private func nextDay(_ date: String, _ count: Int) -> String {
    Day.date(date, adding: count) ?? DatabaseTimestamp.now.date
}
