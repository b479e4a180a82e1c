import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import HearthJSONValues
import HearthTestSupport
import Testing

@testable import HearthThreads

@Suite("The client of the threads", .timeLimit(.minutes(15)))
@MainActor
struct ThreadsClientTests {
    private let house: ThreadsHouse

    init() throws { house = try ThreadsHouse() }

    private func session(_ name: String) throws -> Session {
        try Session(server: house.url, file: house.server.sessionFile(name), patience: Patience.limit)
    }

    /// Somebody with a new account.
    private func signUp(_ name: String) async throws -> Session {
        let session = try session(name)
        try await session.signUp(
            firstName: name, lastName: "Lee", email: "\(name.lowercased())@example.com", password: "secret1",
            confirmation: "secret1")
        return session
    }

    @Test("says what is wrong with an account, field by field")
    func problems() async throws {
        _ = try await signUp("Ann")
        let session = try session("Bob")
        func attempt(_ first: String, _ email: String, _ password: String, _ confirmation: String) async throws {
            try await session.signUp(
                firstName: first, lastName: "Ray", email: email, password: password, confirmation: confirmation)
        }
        await #expect(throws: FieldProblems(["confirmation": "This is not the same password."])) {
            try await attempt("Bob", "bob@example.com", "secret1", "secret2")
        }
        await #expect(throws: FieldProblems(["fname": "The field 'fname' is missing."])) {
            try await attempt(" ", "bob@example.com", "secret1", "secret1")
        }
        await #expect(throws: FieldProblems(["email": "There is an account with this email address already."])) {
            try await attempt("Bob", "ann@example.com", "secret1", "secret1")
        }
        await #expect(throws: FieldProblems(["password": "The email address or the password is wrong."])) {
            try await session.logIn(email: "ann@example.com", password: "secret2")
        }
        await #expect(
            throws: FieldProblems([
                "email": "The field 'email' is missing.", "password": "The field 'password' is missing.",
            ])
        ) { try await session.logIn(email: " ", password: "") }
        #expect(session.member == nil)
        try await session.logIn(email: "ann@example.com", password: "secret1")
        #expect(session.member?.creator.name == "Ann Lee")
    }

    @Test("stays logged in between runs, at the same service, until it logs out")
    func kept() async throws {
        let ann = try await signUp("Ann")
        let again = try session("Ann")
        #expect(again.member == ann.member)
        #expect(again.member?.email == "ann@example.com")
        try await ThreadList(again).load()
        #expect(try Session(server: "http://127.0.0.1:1", file: house.server.sessionFile("Ann")).member == nil)
        try again.logOut()
        #expect(again.member == nil)
        #expect(try session("Ann").member == nil)
    }

    @Test("is logged out when the service does not take the token any more, and stays so")
    func ended() async throws {
        _ = try await signUp("Ann")
        let file = SecretFile(path: house.server.sessionFile("Ann"))
        let text = try #require(try file.read())
        var kept = try #require(try JSONValue(parsing: text).object)
        kept["token"] = .text("x.y.z")
        try file.replace(with: kept.bytes)
        let session = try session("Ann")
        #expect(session.member != nil)
        let error = await #expect(throws: ServiceError.self) { try await ThreadList(session).load() }
        #expect(error?.status == 401)
        #expect(session.member == nil)
        #expect(try self.session("Ann").member == nil)
    }

    @Test("says so when there is no service, or something else")
    func unreachable() async throws {
        func attempt(_ url: String) async throws {
            try await Session(server: url, file: house.server.sessionFile("x")).logIn(email: "a@b.de", password: "x")
        }
        let nobody = await #expect(throws: Problem.self) { try await attempt("http://127.0.0.1:1") }
        #expect(nobody?.description.hasPrefix("The service cannot be reached: ") == true)
        // A server has another text for unknown items.
        let other = await #expect(throws: ServiceError.self) { try await attempt(house.server.url) }
        #expect(other?.status == 404)
        let nonsense = await #expect(throws: Problem.self) { try await attempt("nonsense") }
        #expect(nonsense?.description.hasPrefix("The service cannot be reached: ") == true)
    }

    @Test("shows the threads of all, the newest first, and deletes one's own; all is asked for again after a change")
    func threads() async throws {
        let ann = ThreadList(try await signUp("Ann"))
        let bob = ThreadList(try await signUp("Bob"))
        #expect(ann.threads == nil)
        try await ann.add(title: "Trips")
        try await bob.add(title: "Books")
        #expect(ann.threads?.map(\.title) == ["Trips", "Welcome"])
        #expect(bob.threads?.map(\.title) == ["Books", "Trips", "Welcome"])
        #expect(bob.threads?.map(\.creator.name) == ["Bob Lee", "Ann Lee", "The House"])
        #expect(bob.threads?.map { bob.mayDelete($0) } == [true, false, false])
        await #expect(throws: FieldProblems(["title": "The field 'title' is missing."])) {
            try await ann.add(title: " ")
        }
        let trips = try #require(bob.threads?[1])
        await #expect(throws: ServiceError(status: 403, description: "Only its creator may delete a thread.")) {
            try await bob.delete(trips)
        }
        try await ann.delete(trips)
        #expect(ann.threads?.map(\.title) == ["Books", "Welcome"])
        #expect(bob.threads?.count == 3)
        try await bob.load()
        #expect(bob.threads == ann.threads)
    }

    @Test("has made a change although the list cannot be asked for again, and says so")
    func failedReload() async throws {
        let session = try await signUp("Ann")
        let relay = try Relay(to: house.port)
        let far = try Session(server: relay.url, file: house.server.sessionFile("far"), patience: Patience.limit)
        try await far.logIn(email: "ann@example.com", password: "secret1")
        let threads = ThreadList(far)
        relay.admit(1)
        try await threads.add(title: "Trips")
        #expect(threads.threads == nil)
        #expect(threads.problem?.contains("cannot be reached") == true)
        relay.admit(.max)
        try await threads.load()
        #expect(threads.threads?.map(\.title) == ["Trips", "Welcome"])
        #expect(threads.problem == nil)
        let list = MessageList(far, of: try #require(threads.threads?.first))
        try await list.load()
        relay.admit(1)
        try await list.add("Rome?")
        #expect(list.messages == [])
        #expect(list.problem?.contains("cannot be reached") == true)
        let near = MessageList(session, of: list.thread)
        try await near.load()
        #expect(near.messages?.map(\.text) == ["Rome?"])
    }

    @Test("shows the messages of a thread with their creators, and deletes one's own")
    func messages() async throws {
        let (annSession, bobSession) = (try await signUp("Ann"), try await signUp("Bob"))
        let threads = ThreadList(annSession)
        try await threads.add(title: "Trips")
        let thread = try #require(threads.threads?.first)
        let (ann, bob) = (MessageList(annSession, of: thread), MessageList(bobSession, of: thread))
        try await ann.add("Rome?")
        try await bob.add("Naples & Capri, 50% off + breakfast \u{1F35D}")
        #expect(ann.messages?.map(\.text) == ["Rome?"])
        #expect(bob.messages?.map(\.text) == ["Rome?", "Naples & Capri, 50% off + breakfast \u{1F35D}"])
        #expect(bob.messages?.map(\.creator.name) == ["Ann Lee", "Bob Lee"])
        #expect(bob.messages?.map { bob.mayDelete($0) } == [false, true])
        let first = try #require(bob.messages?[0])
        await #expect(throws: ServiceError(status: 403, description: "Only its creator may delete a message.")) {
            try await bob.delete(first)
        }
        await #expect(throws: FieldProblems(["message": "The field 'message' is missing."])) { try await bob.add("") }
        try await ann.delete(first)
        #expect(ann.messages?.map(\.creator.name) == ["Bob Lee"])
        try await threads.delete(thread)
        await #expect(throws: ServiceError(status: 404, description: "There is no such thread.")) {
            try await bob.load()
        }
    }
}
