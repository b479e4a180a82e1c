import HearthExampleKit
import HearthExampleTerminal
import HearthClient

/// What the operator has prepared.
private struct Welcome: Codable {
    let name: String
    let notes: [String]
}

/// The notebooks of one user.
@MainActor
final class NotebookShelf {
    /// In the order in which they were made.
    let live: LiveList<DatabaseChild<Notebook>>

    private let place: DatabaseReference
    private let welcome: DatabaseReference

    init(_ database: Database, of person: Person) {
        place = database.reference(withPath: "notebooks").child(person.id)
        welcome = database.reference(withPath: "welcome")
        live = LiveList(place, of: Notebook.self)
    }

    /// Nil until it is known.
    var notebooks: [DatabaseChild<Notebook>]? { live.items }

    /// Nil for one that is not there, or not any more.
    func notebook(_ id: String) -> DatabaseChild<Notebook>? { live.item(id) }

    // MARK: Changes

    /// - throws: `FieldProblems` for `name`; `DatabaseError`.
    func add(_ name: String) async throws {
        let name = name.trimmed
        let problem = name.isEmpty ? "A notebook needs a name." : "A name has at most 100 characters."
        try FieldProblems.check(["name": (1...100).contains(name.utf16.count) ? nil : problem])
        try await place.childByAutoId().setValue(["name": name, "created": ServerValue.timestamp()])
    }

    /// - throws: `FieldProblems` for `text`; `DatabaseError`.
    func write(_ text: String, in notebook: DatabaseChild<Notebook>) async throws {
        let text = text.trimmed
        let problem = text.isEmpty ? "The note is empty." : "A note has at most 10000 characters."
        try FieldProblems.check(["text": (1...10000).contains(text.utf16.count) ? nil : problem])
        try await notes(of: notebook).childByAutoId()
            .setValue(["text": text, "date": ServerValue.timestamp()])
    }

    func delete(_ note: DatabaseChild<Note>, in notebook: DatabaseChild<Notebook>) async throws {
        try await notes(of: notebook).child(note.id).removeValue()
    }

    private func notes(of notebook: DatabaseChild<Notebook>) -> DatabaseReference {
        place.child(notebook.id).child("notes")
    }

    /// Gives a new user the notebook that the operator has prepared, if there is one.
    func takeWelcome() async throws {
        guard let prepared = try await welcome.getData().data(as: Welcome?.self) else { return }
        var notes: [String: DatabaseValue] = [:]
        for text in prepared.notes {
            notes[place.database.makeKey()] = ["text": .string(text), "date": ServerValue.timestamp()]
        }
        try await place.childByAutoId()
            .setValue(["name": prepared.name, "created": ServerValue.timestamp(), "notes": notes])
    }
}
