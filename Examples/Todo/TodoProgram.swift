import HearthExampleKit
import HearthClient

/// A list of things to do: what the command line can do, and where the screen begins.
let todoProgram = Program(
    "hearth-todo", "What is to be done, and when; each user has a list.",
    commands: Program.accountCommands(signedUp: prepare) + [
        .init("list", "prints the entries with their numbers") { call in
            show(try await loadedList(call).entries ?? [])
        },
        .init("add DATE TIME TEXT", "adds an entry, as in: add 2026-03-01 18:30 Dinner") { call in
            try await loadedList(call).add(
                date: call.required("DATE"), time: call.required("TIME"), text: call.required("TEXT"))
        },
        .init("done NUMBER", "says that an entry is done") { call in
            let list = try await loadedList(call)
            try await list.setDone(try find(call, in: list), true)
        },
        .init("delete NUMBER", "deletes an entry") { call in
            let list = try await loadedList(call)
            try await list.delete(try find(call, in: list))
        },
        .init("watch", "prints the entries now and whenever they change") { call in
            let account = try Account(call)
            try await TodoList(account.database, of: try account.needPerson()).live.follow { entries in
                show(entries)
                say("--")
            }
        },
    ]
) { call, terminal in
    let account = try Account(call)
    async let _ = account.follow()
    terminal.watch(account)
    while true {
        guard let person = try await terminal.welcome("To do", account, signedUp: prepare) else { continue }
        try await showEntries(of: person, account, on: terminal)
    }
}

@MainActor
private func prepare(_ account: Account, _ person: Person) async throws {
    try await TodoList(account.database, of: person).takeWelcome()
}

/// The list of the signed-in user.
@MainActor
private func loadedList(_ call: Call) async throws -> TodoList {
    let account = try Account(call)
    let list = TodoList(account.database, of: try account.needPerson())
    try await list.live.load()
    return list
}

@MainActor
private func find(_ call: Call, in list: TodoList) throws -> DatabaseChild<Entry> {
    try call.item(of: list.entries ?? [], "entry")
}

private func show(_ entries: [DatabaseChild<Entry>]) {
    say(numbered: entries.map { "\($0.done ? "x" : " ")  \($0.date) \($0.time)  \($0.text)" })
}
