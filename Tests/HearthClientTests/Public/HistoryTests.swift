import HearthServerSupport
import HearthClient
import HearthServer
import Testing

@Suite("The past in the client", .timeLimit(.minutes(15)))
struct HistoryTests {
    private let server: TestDatabase

    init() throws {
        server = try TestDatabase { configuration, folder in
            configuration.settingsFile = try folder.write(
                #"{"settings":{"pages":{".history":{"keep":"1d","read":"true"}}}}"#, as: "settings.json")
        }
    }

    @Test("is read, listed, compared and restored")
    func past() async throws {
        let database = try server.client()
        let page = database.reference(withPath: "pages/home")
        try await page.setValue(["title": "a", "n": 1])
        try await page.updateChildValues(["title": "b"])
        let history = try await page.getHistory()
        #expect(history.entries.count == 2)
        #expect(history.before == nil)
        let first = try #require(history.entries.last)
        #expect(first.uid == nil)
        #expect(first.further == 0)
        #expect(first.time > 0)
        #expect(first.values == ["/pages/home": ["title": "a", "n": 1]])
        let then = DatabaseMoment.change(first.number)
        #expect(try await page.getData(at: then).value == ["title": "a", "n": 1])
        #expect(try await page.child("title").getData(at: .time(database.serverTime + 1000)).value == "b")
        let found = try await page.getDifferences(from: then)
        #expect(found.differences.map(\.path) == ["/title"])
        #expect(found.further == 0)
        #expect(found.differences.first?.before == "a")
        #expect(found.differences.first?.after == "b")
        try await page.restore(to: then)
        #expect(try await page.getData().value == ["title": "a", "n": 1])
        #expect(try await page.getHistory(limit: 1).before == history.entries[0].number + 1)
        let administrator = try server.client { $0.tokenProvider = { _ in "owner" } }
        for client in [database, administrator] {
            let error = DatabaseError.refused(status: "not_found", message: "no history is kept of this place")
            await #expect(throws: error) { try await client.reference(withPath: "other").getHistory() }
        }
    }

    @Test("is told of values as deep as the server takes")
    func deepValues() async throws {
        let page = try server.client().reference(withPath: "pages")
        func value(_ leaf: DatabaseValue) -> DatabaseValue {
            (1...31).reduce(leaf) { value, _ in .object(["k": value]) }
        }
        try await page.setValue(value(1))
        try await page.setValue(value(2))
        let history = try await page.getHistory()
        #expect(history.entries.map(\.values) == [["/pages": value(2)], ["/pages": value(1)]])
        let first = DatabaseMoment.change(try #require(history.entries.last).number)
        #expect(try await page.getData(at: first).value == value(1))
        let differences = try await page.getDifferences(from: first).differences
        #expect(differences.map(\.before) == [1])
        try await page.removeValue()
        let removed = try await page.getDifferences(from: first).differences
        #expect(removed.map(\.before) == [value(1)])
    }
}
