import HearthExampleKit
import HearthExampleTerminal
import HearthClient

/// The notebooks of the signed-in user, until they sign out.
@MainActor
func showNotebooks(of person: Person, _ account: Account, on terminal: Terminal) async throws {
    let shelf = NotebookShelf(account.database, of: person)
    async let _ = shelf.live.follow()
    let key = try await terminal.list(
        { "Notebooks of \(person.name)" }, { account.person == person ? shelf.notebooks ?? [] : nil },
        empty: { shelf.notebooks == nil ? "One moment…" : "No notebook yet. Press a to add one." },
        problem: { shelf.live.problem },
        actions: [
            .onItem(.enter, "open") { try await showNotes(of: $0.id, shelf, on: terminal) },
            .always("a", "add") {
                try await terminal.form("New notebook", [Field("name", "Name")], isWrite: true) { values in
                    try await shelf.add(values["name"] ?? "")
                }
            },
            .leave("o", "sign out", asks: true), .quit("q"),
        ]
    ) { notebook in
        Line(notebook.name.padded(to: 30), .bold) + Line("  \(notebook.created)  ", .faint) + Line(notebook.noteCount)
    }
    if key == "o" { try account.signOut() }
}

/// The notes of a notebook, until the user goes back or the notebook no longer exists.
@MainActor
private func showNotes(of id: String, _ shelf: NotebookShelf, on terminal: Terminal) async throws {
    try await terminal.list(
        { shelf.notebook(id)?.name ?? "" }, { shelf.notebook(id)?.list },
        empty: { "No note yet. Press a to add one." }, problem: { shelf.live.problem },
        actions: [
            .onItem(.enter, "read") { note in
                try await terminal.showText("\(note.date)") {
                    shelf.notebook(id)?.list.first { $0.id == note.id }?.text
                }
            },
            .always("a", "add") {
                try await terminal.form("New note", [Field("text", "Text")], isWrite: true) { values in
                    guard let notebook = shelf.notebook(id) else { throw Problem("The notebook no longer exists.") }
                    try await shelf.write(values["text"] ?? "", in: notebook)
                }
            },
            .onItem("d", "delete") { note in
                guard let notebook = shelf.notebook(id), try await terminal.confirm("Delete this note?") else { return }
                try await terminal.perform("Deleting…", isWrite: true) { try await shelf.delete(note, in: notebook) }
            },
            .leave(.escape, "back"),
        ]
    ) { note in
        Line("\(note.date)  ", .faint) + Line(note.text)
    }
}

extension Notebook {
    /// As in `3 notes`.
    var noteCount: String { list.count == 1 ? "1 note" : "\(list.count) notes" }
}
