import ExampleKit
import HearthClient

/// Something to do.
struct Entry: Identifiable, Hashable {
    let id: String
    /// As in `2026-03-01`.
    let date: String
    /// As in `18:30`.
    let time: String
    let text: String
    let isDone: Bool
}

extension Entry: Comparable {
    /// What is to be done comes before what is done, and then what is due earlier.
    static func < (a: Entry, b: Entry) -> Bool {
        if a.isDone != b.isDone { return b.isDone }
        return (a.date, a.time, a.id) < (b.date, b.time, b.id)
    }
}

extension Entry {
    /// Nil for what is no entry.
    init?(_ snapshot: DataSnapshot) {
        let value = snapshot.value
        guard let id = snapshot.key, let date = value["date"].string, let time = value["time"].string,
            let text = value["text"].string
        else { return nil }
        self.init(id: id, date: date, time: time, text: text, isDone: value["done"].bool ?? false)
    }
}
