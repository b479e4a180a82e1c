import HearthAdmin
import HearthClient
import HearthTesting
import HearthTestSupport
import Testing

/// These tests contain the code of the article "Testing your app" word for word.
@Suite("A server in the test process", .timeLimit(.minutes(15)))
struct TestServerTests {
    private let folder = TemporaryFolder()

    /// The path of a new file.
    private func file(_ name: String, _ text: String) -> String {
        TemporaryFolder.write(Array(text.utf8), to: "\(folder.path)/\(name)")
        return "\(folder.path)/\(name)"
    }

    @Test func seatsAreCounted() async throws {
        let server = try TestServer()
        let database = try Database(url: server.url)
        let room = database.reference(withPath: "rooms/kitchen")
        try await room.setValue(["seats": 4])
        try await room.child("seats").setValue(ServerValue.increment(-1))
        #expect(try await room.child("seats").getData().int == 3)
    }

    @Test("has nothing of another one beside it")
    func separation() async throws {
        let first = try TestServer()
        let second = try TestServer()
        try await Database(url: first.url).reference(withPath: "a").setValue(1)
        #expect(try await Database(url: second.url).reference(withPath: "a").getData().exists() == false)
        first.stop()
        first.stop()
        try await Database(url: second.url).reference(withPath: "a").setValue(2)
    }

    private static let rules = """
        {"rules": {
            "people": {"$uid": {".read": true, ".write": "auth.uid === $uid"}},
            "prices": {".read": true}
        }}
        """

    @Test("enforces the rules of the app, for all but administrators")
    func rules() async throws {
        let rulesFile = file("rules.json", Self.rules)
        let seedFile = file("seed.json", #"{"prices": {"milk": 1.5}}"#)
        let server = try TestServer(rulesFile: rulesFile, seedFile: seedFile)
        try await signingUp(server)
        try await preparing(server)
        let prices = try Database(url: server.url).reference(withPath: "prices")
        #expect(try await prices.getData().value == ["milk": 1.5, "tea": 2.5])
    }

    /// Not called: the files are those of a reader's package.
    private func packageFiles() throws {
        let server = try TestServer(rulesFile: "rules.json", seedFile: "seed.json")
        _ = server
    }

    private func signingUp(_ server: TestServer) async throws {
        let auth = try Auth(url: server.url)
        let ann = try await auth.createUser(withEmail: "ann@example.com", password: "secret-1").user
        let database = try Database(url: server.url, options: DatabaseOptions(auth: auth))
        try await database.reference(withPath: "people/\(ann.uid)/name").setValue("Ann")
        let denial = await #expect(throws: DatabaseError.self) {
            try await database.reference(withPath: "people/somebody-else/name").setValue("Ann")
        }
        #expect(denial?.description.hasPrefix("permission denied: ") == true)
    }

    private func preparing(_ server: TestServer) async throws {
        let admin = try Administrator(developmentURL: server.url)
        let everything = try admin.database()
        try await everything.reference(withPath: "prices/tea").setValue(2.5)
    }

    @Test("has the settings of the app, as text or from a file, and says what is wrong with them")
    func settings() async throws {
        let server = try TestServer(settings: #"{"settings": {"names": {".unique": ".value"}}}"#)
        let settings = file("settings.json", #"{"settings": {"names": {".unique": ".value"}}}"#)
        let other = try TestServer(settingsFile: settings)
        for server in [server, other] {
            let names = try Database(url: server.url).reference(withPath: "names")
            try await names.child("ann").setValue("Ann")
            let refusal = await #expect(throws: DatabaseError.self) { try await names.child("bob").setValue("Ann") }
            #expect(
                refusal == .permissionDenied(#"Another child of "/names" has the same value: unique"#))
        }
        let error = try #require(throws: TestServerError.self) {
            try TestServer(settings: #"{"settings":{".nope":1}}"#)
        }
        #expect(error.description.hasPrefix("settings:1:"))
    }

    @Test("is without a network when the test says so")
    func network() async throws {
        let server = try TestServer()
        let database = try Database(url: server.url)
        try await offline(database)
        let reader = try Database(url: server.url)
        #expect(try await reader.reference(withPath: "notes/1").getData().string == "Milk")
    }

    private func offline(_ database: Database) async throws {
        database.goOffline()
        database.reference(withPath: "notes/1").setValue("Milk", withCompletionBlock: nil)
        for await count in database.pendingWriteCounts where count == 1 { break }
        database.goOnline()
        try await database.waitForPendingWrites()
    }

    @Test("makes the writes for the end of a connection")
    func presence() async throws {
        let server = try TestServer()
        let phone = try Database(url: server.url)
        let online = phone.reference(withPath: "people/ada/online")
        try await online.onDisconnectSetValue(false)
        try await online.setValue(true)
        let database = try Database(url: server.url)
        #expect(try await database.reference(withPath: "people/ada/online").getData().bool == true)
        await phone.close()
        let ada = database.reference(withPath: "people/ada")
        for try await snapshot in ada.values() where snapshot["online"].bool == false { break }
    }

    @Test("that has stopped is away")
    func stopped() async throws {
        let server = try TestServer()
        let database = try Database(url: server.url)
        for await state in database.connectionStates where state == .connected { break }
        server.stop()
        for await case .waiting in database.connectionStates { break }
    }

    @Test("says what is wrong with its files")
    func mistakes() throws {
        let rules = file("wrong.json", "{\n  \"rules\": {\".read\": \"auth.\"}\n}")
        let error = try #require(throws: TestServerError.self) { try TestServer(rulesFile: rules) }
        #expect(error.description.contains("wrong.json:2:"))
        let missing = try #require(throws: TestServerError.self) { try TestServer(seedFile: "\(folder.path)/none") }
        #expect(missing.description == "cannot read the seed file \(folder.path)/none")
    }
}
