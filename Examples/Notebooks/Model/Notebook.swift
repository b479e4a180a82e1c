import ExampleKit
import HearthClient

/// A notebook as it is shown.
struct Notebook: Identifiable, Hashable {
    let id: String
    let name: String
    let created: Moment
    /// From the oldest to the newest.
    let notes: [Note]
}

/// Something written in a notebook.
struct Note: Identifiable, Hashable {
    let id: String
    let text: String
    let date: Moment
}

extension Notebook {
    /// Nil for what is no notebook.
    init?(_ snapshot: DataSnapshot) {
        let created = snapshot.childSnapshot(forPath: "created").value.int
        guard let id = snapshot.key, let name = snapshot.childSnapshot(forPath: "name").value.string, let created else {
            return nil
        }
        self.id = id
        self.name = name
        self.created = Moment(milliseconds: created)
        notes = snapshot.childSnapshot(forPath: "notes").children.compactMap(Note.init)
    }
}

extension Note {
    fileprivate init?(_ snapshot: DataSnapshot) {
        let value = snapshot.value
        guard let id = snapshot.key, let text = value["text"].string, let date = value["date"].int else { return nil }
        self.id = id
        self.text = text
        self.date = Moment(milliseconds: date)
    }
}
