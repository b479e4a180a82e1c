import HearthExampleKit
import HearthExampleTerminal
import HearthClient

/// A notebook as it is in the database.
struct Notebook: Codable, Hashable {
    let name: String
    let created: DatabaseTimestamp
    /// By their keys, which sort from the oldest to the newest.
    let notes: [String: Note]?
}

/// Something written in a notebook.
struct Note: Codable, Hashable {
    let text: String
    let date: DatabaseTimestamp
}

extension Notebook {
    /// From the oldest to the newest.
    var list: [DatabaseChild<Note>] {
        (notes ?? [:]).sorted { $0.key < $1.key }.map { DatabaseChild(id: $0.key, value: $0.value) }
    }
}
