import HearthServerSupport
import FoundationEssentials
import HearthClient
import HearthTestSupport
import Testing

@Suite("Values without wrapping", .timeLimit(.minutes(15)))
struct ConvertingTests {
    private struct Message: Codable, DatabaseValueConvertible, Equatable {
        var text: String
        var at: DatabaseValue?
    }

    @Test("variables of all types go into one dictionary, and into queries")
    func variables() async throws {
        let server = try TestDatabase()
        let database = try server.client()
        let (title, seats, ratio, isOpen, nobody) = ("Lobby", 4, 0.5, true, String?.none)
        let room = database.reference(withPath: "rooms/lobby")
        try await room.setValue([
            "title": title, "seats": seats, "ratio": ratio, "open": isOpen, "by": nobody, "tags": [title, title],
            "at": ServerValue.timestamp(), "count": UInt(3), "part": title.prefix(2),
        ])
        let snapshot = try await room.getData()
        #expect(snapshot["title"].string == title)
        #expect(snapshot["seats"].int == seats)
        #expect(snapshot["ratio"].double == ratio)
        #expect(snapshot["open"].bool == isOpen)
        #expect(!snapshot.hasChild("by"))
        #expect(snapshot["tags"].value.array == ["Lobby", "Lobby"])
        #expect(snapshot["at"].int ?? 0 > 0)
        #expect(snapshot["count"].int == 3)
        #expect(snapshot["part"].string == "Lo")
        try await room.setPriority(seats)
        let rooms = database.reference(withPath: "rooms")
        let queries = [
            rooms.queryOrdered(byChild: "title").queryEqual(toValue: title),
            rooms.queryOrdered(byChild: "seats").queryStarting(atValue: seats).queryEnding(atValue: seats),
            rooms.queryOrdered(byChild: "ratio").queryStarting(afterValue: ratio / 2).queryEnding(
                beforeValue: ratio * 2),
        ]
        for query in queries { #expect(try await query.getData().childrenCount == 1) }
        let reason = "18446744073709551615 does not fit 64 bits"
        await #expect(throws: DatabaseError.invalidValue(reason)) {
            try await room.setValue(["n": UInt.max, "title": title])
        }
        await #expect(throws: DatabaseError.invalidQuery(reason)) {
            try await rooms.queryEqual(toValue: UInt.max).getData()
        }
        #expect(try DatabaseValue(seats) == 4)
    }

    @Test("models go into updates and on-disconnect writes")
    func models() async throws {
        let server = try TestDatabase()
        let (database, other) = (try server.client(), try server.client())
        let (key, message) = ("m1", Message(text: "Hello", at: ServerValue.timestamp()))
        try await database.reference().updateChildValues([
            "messages/\(key)": message, "people/ada/last": key, "people/ada/gone": nil,
            "copies/\(key)": DatabaseValue(encoding: message),
        ])
        let stored = try await other.reference().getData()
        #expect(try stored["messages/m1"].data(as: Message.self).text == "Hello")
        #expect(stored["messages/m1/at"].int == stored["copies/m1/at"].int)
        #expect(stored["people/ada/last"].string == key)

        let log = EventLog()
        log.observe(other.reference(withPath: "ends"), "", [.value])
        #expect(await log.next() == "value: null")
        try await database.reference(withPath: "ends/a").onDisconnectSetValue(Message(text: "Bye", at: nil))
        try await database.reference(withPath: "ends").onDisconnectUpdateChildValues(["b": key, "c": message.text])
        database.goOffline()
        #expect(await log.next() == #"value: {"a":{"text":"Bye"},"b":"m1","c":"Hello"}"#)
    }

    @Test("models inside dictionaries are encoded as the database's options say, as models alone are")
    func options() async throws {
        struct Visit: Codable, DatabaseValueConvertible {
            var at: Date
        }
        let server = try TestDatabase()
        let coding = DatabaseCodingOptions(dateStrategy: .secondsSince1970)
        let visits = try server.client { $0.coding = coding }.reference(withPath: "visits")
        let visit = Visit(at: Date(timeIntervalSince1970: 5))
        try await visits.child("a").setValue(visit)
        try await visits.updateChildValues(["b": visit, "c/list": [visit]])
        try await visits.child("d").setValue(["e": visit, "n": 1])
        let stored = try await visits.getData()
        for path in ["a/at", "b/at", "c/list/0/at", "d/e/at"] { #expect(stored[path].double == 5, "\(path)") }
        #expect(try visit.databaseValue["at"].double == 5000)
    }

    @Test("snapshots are equal if place and value are")
    func snapshots() async throws {
        let server = try TestDatabase()
        let place = try server.client().reference(withPath: "x")
        try await place.setValue(["a": 1])
        let (one, other) = (try await place.getData(), try await place.getData())
        #expect(one == other)
        #expect(one["a"] != other["b"])
        #expect(one.children.map(\.id) == [place.child("a")])
        try await place.setPriority(1)
        let changed = try await place.getData()
        #expect(one != changed)
        #expect(place.database.serverTime > 1_700_000_000_000)
    }

    @Test("and objects for user interfaces are kept up to date")
    @MainActor
    func observed() async throws {
        let server = try TestDatabase()
        let (database, other) = (try server.client(), try server.client())
        let list = ObservedList(database.reference(withPath: "list"), of: Message.self)
        let value = ObservedValue(database.reference(withPath: "list/a"), as: Message.self)
        #expect(list.isLoaded == false)
        try await other.reference(withPath: "list").setValue(["a": ["text": "A"], "b": ["wrong": 1]])
        try await eventually("the first message") { list.children["a"] != nil && value.value != nil }
        #expect(list.children.map(\.value.text) == ["A"])
        #expect(list.children.malformed.map(\.id) == ["b"])
        #expect(value.value == Message(text: "A", at: nil))
        try await other.reference(withPath: "list/a").setValue(5)
        try await eventually("the error") { value.error != nil }
        #expect(value.error == .typeMismatch("an object was expected"))
        try await eventually("an empty list") { list.children.isEmpty }
        #expect(list.error == nil)
        #expect(list.isLoaded)
    }
}
