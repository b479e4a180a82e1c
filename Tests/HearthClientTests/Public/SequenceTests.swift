import HearthServerSupport
import HearthClient
import Testing

@Suite("Events as sequences, values as types", .timeLimit(.minutes(15)))
struct SequenceTests {
    private let server: TestDatabase

    init() throws { server = try TestDatabase() }

    private struct Room: Codable, Equatable, Sendable {
        enum Kind: String, Codable { case small, large }
        var title: String
        var seats: Int
        var size: Double?
        var kind: Kind
        var tags: [String]
        var owners: [String: Bool]
        var corners: [[Int]]
    }

    @Test("values come as they change, and the loop ends with its task")
    func values() async throws {
        let (one, other) = (try server.client(), try server.client())
        let place = one.reference(withPath: "n")
        try await place.setValue(0)
        let reader = Task {
            var last = -1
            for try await snapshot in other.reference(withPath: "n").values() {
                let value = snapshot.value.int ?? -1
                #expect(value > last)
                last = value
                if value == 50 { break }
            }
            return last
        }
        for value in 1...50 { try await place.setValue(value) }
        #expect(try await reader.value == 50)
        let idle = Task {
            for try await _ in other.reference(withPath: "n").values() {}
            return true
        }
        idle.cancel()
        #expect(try await idle.value)
    }

    @Test("child events are all there, in order")
    func children() async throws {
        let (one, other) = (try server.client(), try server.client())
        let list = one.reference(withPath: "list")
        try await list.setValue(["a": 1])
        var events = other.reference(withPath: "list").queryOrderedByKey().childEvents().makeAsyncIterator()
        func next() async throws -> String {
            switch try await events.next(isolation: nil) {
            case .added(let snapshot, let previous)?: "added \(snapshot) after \(previous ?? "-")"
            case .changed(let snapshot, let previous)?: "changed \(snapshot) after \(previous ?? "-")"
            case .moved(let snapshot, let previous)?: "moved \(snapshot) after \(previous ?? "-")"
            case .removed(let snapshot)?: "removed \(snapshot)"
            case nil: "end"
            }
        }
        #expect(try await next() == "added a: 1 after -")
        for number in 0..<100 { list.child("b").setValue(number, withCompletionBlock: nil) }
        #expect(try await next() == "added b: 0 after a")
        for number in 1..<100 { #expect(try await next() == "changed b: \(number) after a") }
        try await list.removeValue()
        #expect(try await next() == "removed a: 1")
        #expect(try await next() == "removed b: 99")
    }

    @Test("types of one's own are written, read, observed and changed")
    func types() async throws {
        let database = try server.client()
        let place = database.reference(withPath: "room")
        var room = Room(
            title: "Ä \"hall\"", seats: 4, size: nil, kind: .large, tags: ["a", "b"], owners: ["x": true],
            corners: [[1, 2], [3]])
        try await place.setValue(room)
        #expect(try await place.getData().data(as: Room.self) == room)
        room.size = 2.5
        room.tags = []
        try await place.setValue(room)
        for try await value in place.values(as: Room.self) {
            #expect(value == room)
            break
        }
        let changed = try await place.transaction(of: Room.self) { $0?.seats += 1 }
        #expect(changed.value?.seats == 5)
        await #expect(throws: DatabaseError.typeMismatch("Int was expected at title")) {
            struct Wrong: Decodable { var title: Int }
            _ = try await place.getData().data(as: Wrong.self)
        }
        try await place.removeValue()
        for try await value in place.values(as: Room.self) {
            #expect(value == nil)
            break
        }
    }

    @Test("children are read and observed as types, in the query's order")
    func typedChildren() async throws {
        struct Note: Codable, Equatable, Sendable {
            var text: String
            var rank: Int
        }
        func lines(_ notes: DatabaseList<Note>?) -> [String]? { notes?.map { "\($0.id) \($0.value.text)" } }
        let place = try server.client().reference(withPath: "notes")
        var loop = place.queryOrdered(byChild: "rank").children(as: Note.self).makeAsyncIterator()
        #expect(lines(try await loop.next(isolation: nil)) == [])
        try await place.setValue(["a": Note(text: "A", rank: 2), "b": Note(text: "B", rank: 1)])
        #expect(lines(try await loop.next(isolation: nil)) == ["b B", "a A"])
        let snapshot = try await place.getData()
        #expect(lines(try snapshot.children(as: Note.self)) == ["a A", "b B"])
        try await place.child("c").setValue(["text": 5, "rank": 3])
        // One of another shape does not hide the others.
        let list = try await loop.next(isolation: nil)
        #expect(lines(list) == ["b B", "a A"])
        #expect(list?["a"]?.text == "A")
        #expect(list?.malformed.map(\.id) == ["c"])
        #expect(list?.malformed.first?.error == .typeMismatch("String was expected at c/text"))
        try await place.child("c/text").setValue("C")
        #expect(lines(try await loop.next(isolation: nil)) == ["b B", "a A", "c C"])
        #expect(throws: DatabaseError.typeMismatch("children were expected")) {
            try snapshot["a/text"].children(as: String.self)
        }
    }

    @Test("the parts of a snapshot are read without the rest")
    func parts() async throws {
        let place = try server.client().reference(withPath: "x")
        try await place.setValue(["s": "text", "i": 5, "d": 2.5, "b": true, "o": ["w": 3.0]])
        let snapshot = try await place.getData()
        #expect(snapshot["s"].string == "text")
        #expect(snapshot["s"].int == nil)
        #expect(snapshot["s"].key == "s")
        #expect(snapshot["i"].int == 5)
        #expect(snapshot["i"].double == 5)
        #expect(snapshot["i"].bool == nil)
        #expect(snapshot["d"].double == 2.5)
        #expect(snapshot["d"].int == nil)
        #expect(snapshot["b"].bool == true)
        #expect(snapshot["o/w"].int == 3)
        #expect(snapshot["o"]["w"].int == 3)
        #expect(snapshot["o"].int == nil)
        #expect(!snapshot["none"].exists())
        #expect(snapshot["none"].string == nil)
        #expect(!snapshot["a.b"].exists())
    }

    @Test("server values stand in types of one's own")
    func serverValues() async throws {
        struct Entry: Codable, Sendable {
            var text: String
            var at: DatabaseValue = ServerValue.timestamp()
        }
        let place = try server.client().reference(withPath: "entry")
        try await place.setValue(Entry(text: "hello"))
        let entry = try await place.getData().data(as: Entry.self)
        #expect(entry.text == "hello")
        #expect((entry.at.int ?? 0) > 1_700_000_000_000)
    }
}
