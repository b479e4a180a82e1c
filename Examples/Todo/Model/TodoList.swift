import HearthExampleKit
import HearthExampleTerminal
import HearthClient

/// What one user has to do.
@MainActor
final class TodoList {
    /// Open entries by date and time, then done ones.
    let live: LiveList<DatabaseChild<Entry>>

    private let place: DatabaseReference
    private let hints: DatabaseReference

    init(_ database: Database, of person: Person) {
        place = database.reference(withPath: "todos").child(person.id)
        hints = database.reference(withPath: "welcome")
        live = LiveList(place, of: Entry.self, by: Entry.isBefore)
    }

    /// Nil until it is known.
    var entries: [DatabaseChild<Entry>]? { live.items }

    // MARK: Changes

    /// - throws: `FieldProblems` for `date`, `time` and `text`; `DatabaseError`.
    func add(date: String, time: String, text: String) async throws {
        var values = try Self.checked(date: date, time: time, text: text)
        values["done"] = false
        values["created"] = ServerValue.timestamp()
        try await place.childByAutoId().setValue(.object(values))
    }

    /// Changes what an entry says.
    ///
    /// - throws: as ``add(date:time:text:)``.
    func change(_ entry: DatabaseChild<Entry>, date: String, time: String, text: String) async throws {
        let values = try Self.checked(date: date, time: time, text: text)
        try await place.child(entry.id).updateChildValues(values)
    }

    func setDone(_ entry: DatabaseChild<Entry>, _ isDone: Bool) async throws {
        try await place.child(entry.id).child("done").setValue(isDone)
    }

    func delete(_ entry: DatabaseChild<Entry>) async throws { try await place.child(entry.id).removeValue() }

    private static func checked(
        date: String, time: String, text: String
    ) throws(FieldProblems) -> [String: DatabaseValue] {
        let (date, time, text) = (date.trimmed, time.trimmed, text.trimmed)
        let (day, minute) = (Day.date(date), Day.time(time))
        try FieldProblems.check([
            "date": date.isEmpty
                ? "The date is missing." : day == nil ? "There is no such day; 2026-03-01 is one." : nil,
            "time": time.isEmpty
                ? "The time is missing." : minute == nil ? "There is no such time; 18:30 is one." : nil,
            "text": text.isEmpty
                ? "The content is missing." : text.utf16.count > 500 ? "An entry has at most 500 characters." : nil,
        ])
        return ["date": .string(day ?? ""), "time": .string(minute ?? ""), "text": .string(text)]
    }

    /// Gives a new user the entry that the operator has prepared, if there is one, for today.
    func takeWelcome() async throws {
        guard let text = try await hints.getData().string else { return }
        try await add(date: DatabaseTimestamp.now.date, time: DatabaseTimestamp.now.time, text: text)
    }
}
