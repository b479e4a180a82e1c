import HearthServerSupport
import HearthClient
import HearthTestSupport
import Testing

@Suite("A live list", .timeLimit(.minutes(15)))
@MainActor
struct LiveListTests {
    private struct Note: Identifiable, Equatable {
        let id: String
        let text: String
    }

    private func note(_ snapshot: DataSnapshot) -> Note? {
        guard let id = snapshot.key, let text = snapshot["text"].string else { return nil }
        return Note(id: id, text: text)
    }

    private func list(_ query: some DatabaseQueryable) -> LiveList<Note> {
        LiveList(query, note) { $0.text < $1.text }
    }

    @Test("is read once, in the program's order, without children of another shape")
    func load() async throws {
        let server = try TestDatabase()
        let place = try server.client().reference(withPath: "notes")
        try await place.setValue(["a": ["text": "Z"], "b": ["text": "Y"], "c": ["other": 1]])
        let notes = list(place)
        #expect(notes.items == nil)
        try await notes.load()
        #expect(notes.items == [Note(id: "b", text: "Y"), Note(id: "a", text: "Z")])
        #expect(notes.item("a")?.text == "Z")
        #expect(notes.item("c") == nil)
        // Without an order, that of the query.
        let first = LiveList(place.queryOrderedByKey().queryLimited(toFirst: 1), note)
        try await first.load()
        #expect(first.items?.map(\.id) == ["a"])
    }

    @Test("of a type has decoded children, whose members are at hand")
    func decoded() async throws {
        struct Text: Codable, Sendable, Equatable { var text: String }
        let server = try TestDatabase()
        let place = try server.client().reference(withPath: "notes")
        try await place.setValue(["a": ["text": "Y"], "b": ["text": "Z"], "c": ["other": 1]])
        let notes = LiveList(place, of: Text.self) { $0.text > $1.text }
        try await notes.load()
        #expect(
            notes.items == [DatabaseChild(id: "b", value: Text(text: "Z")), .init(id: "a", value: Text(text: "Y"))])
        #expect(notes.item("a")?.text == "Y")
    }

    @Test("is kept up to date as long as a task follows it")
    func follow() async throws {
        let server = try TestDatabase()
        let place = try server.client().reference(withPath: "notes")
        let other = try server.client().reference(withPath: "notes")
        let notes = list(place)
        var told: [[String]] = []
        let following = Task { try await notes.follow { told.append($0.map(\.text)) } }
        try await eventually("a list") { notes.items != nil }
        #expect(notes.items == [])
        try await other.setValue(["a": ["text": "Z"], "b": ["text": "Y"]])
        try await eventually("two notes") { notes.items?.count == 2 }
        try await other.child("a/text").setValue("A")
        try await eventually("the other order") { notes.items?.first?.id == "a" }
        #expect(told == [[], ["Y", "Z"], ["A", "Y"]])
        following.cancel()
        _ = await following.result
        try await other.removeValue()
        _ = try await place.getData()
        #expect(notes.items?.count == 2)
        #expect(notes.error == nil)
    }

    @Test("says why it is not kept up to date any more, until it is followed again")
    func refused() async throws {
        let server = ScriptedServer(
            .init(received: { peer, text in
                peer.answer(to: text, #""no""#, status: text.contains(#""a":"q""#) ? "permission_denied" : "ok")
            }))
        let place = try server.client().reference(withPath: "notes")
        let notes = list(place)
        let error = await #expect(throws: DatabaseError.self) { try await notes.follow() }
        #expect(notes.error == error)
        #expect(error != nil)
        #expect(notes.items == nil)
    }
}
