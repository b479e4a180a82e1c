import HearthExampleKit
import HearthClient

/// Notebooks and their notes: what the command line can do, and where the screen begins.
let notebookProgram = Program(
    "hearth-notebooks", "Notebooks and notes, live wherever their owner is signed in.",
    commands: Program.accountCommands(signedUp: prepare) + [
        .init("list", "prints the notebooks") { call in
            let shelf = try await loadedShelf(call)
            show(shelf.notebooks ?? [])
        },
        .init("add NOTEBOOK", "makes a notebook") { call in
            try await loadedShelf(call).add(call.required("NOTEBOOK"))
        },
        .init("notes NOTEBOOK", "prints the notes of a notebook") { call in
            let notebook = try find(call, in: try await loadedShelf(call))
            say(numbered: notebook.list.map { "\($0.date)  \($0.text)" })
        },
        .init("write NOTEBOOK TEXT", "adds a note") { call in
            let shelf = try await loadedShelf(call)
            try await shelf.write(call.required("TEXT"), in: try find(call, in: shelf))
        },
        .init("delete NOTEBOOK NUMBER", "deletes a note") { call in
            let shelf = try await loadedShelf(call)
            let notebook = try find(call, in: shelf)
            try await shelf.delete(try call.item(of: notebook.list, "note"), in: notebook)
        },
        .init("watch", "prints the notebooks now and whenever they change") { call in
            let account = try Account(call)
            let shelf = NotebookShelf(account.database, of: try account.needPerson())
            try await shelf.live.follow { notebooks in
                show(notebooks)
                say("--")
            }
        },
    ]
) { call, terminal in
    let account = try Account(call)
    async let _ = account.follow()
    terminal.watch(account)
    while true {
        guard let person = try await terminal.welcome("Notebooks", account, asksTwice: true, signedUp: prepare) else {
            continue
        }
        try await showNotebooks(of: person, account, on: terminal)
    }
}

@MainActor
private func prepare(_ account: Account, _ person: Person) async throws {
    try await NotebookShelf(account.database, of: person).takeWelcome()
}

/// The notebooks of the signed-in user.
@MainActor
private func loadedShelf(_ call: Call) async throws -> NotebookShelf {
    let account = try Account(call)
    let shelf = NotebookShelf(account.database, of: try account.needPerson())
    try await shelf.live.load()
    return shelf
}

@MainActor
private func find(_ call: Call, in shelf: NotebookShelf) throws -> DatabaseChild<Notebook> {
    try call.item(named: "NOTEBOOK", of: shelf.notebooks ?? [], "notebook", by: \.name)
}

private func show(_ notebooks: [DatabaseChild<Notebook>]) {
    for notebook in notebooks {
        say("\(notebook.name.padded(to: 20))  \(notebook.created)  \(notebook.noteCount)")
    }
}
