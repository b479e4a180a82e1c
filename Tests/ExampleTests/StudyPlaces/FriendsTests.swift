import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import Testing

@testable import HearthStudyPlaces

@Suite("Friends", .timeLimit(.minutes(15)))
@MainActor
struct FriendsTests {
    private let server: ExampleServer

    init() throws { server = try ExampleServer("StudyPlaces", rules: "study-places") }

    @Test("are found by their addresses: unknown, nothing today, checked in now and where, finished today")
    func statuses() async throws {
        let bob = try await server.student("Bob", at: Students.morning + 40 * Students.minute)
        #expect(try await bob.friends.find("ann@example.com") == .unknown)
        let ann = try await server.student("Ann")
        try await ann.prepare()
        #expect(try await bob.friends.find(" Ann@Example.com ") == .nothingToday)
        try await ann.activities.checkIn(at: try #require(try await ann.known("philologicum")))
        let here = try await bob.friends.find("ann@example.com")
        #expect(here.location == "philologicum")
        try await ann.activities.live.load()
        #expect(here == .checkedIn(try #require(ann.activities.current?.value)))
        let later = try await server.student("Ann", at: Students.morning + 30 * Students.minute)
        try await later.activities.live.load()
        try await later.activities.checkOut()
        try await later.activities.live.load()
        #expect(try await bob.friends.find("ann@example.com") == .finishedToday(later.activities.activities[0].value))
        let tomorrow = try await server.student("Bob", at: Students.morning + 24 * 60 * Students.minute)
        #expect(try await tomorrow.friends.find("ann@example.com") == .nothingToday)
    }

    @Test("are followed while they come and go")
    func live() async throws {
        let (ann, bob) = (try await server.student("Ann"), try await server.student("Bob"))
        try await ann.prepare()
        let place = try #require(try await ann.known("philologicum"))
        try await alongside({ try await bob.friends.follow("ann@example.com") }) {
            await until { bob.friends.status == .nothingToday }
            try await ann.activities.checkIn(at: place)
            await until { bob.friends.status?.location == place.id }
            try await ann.activities.live.load()
            try await ann.activities.checkOut()
            await until {
                guard case .finishedToday(let activity)? = bob.friends.status else { return false }
                return activity.location == place.id
            }
        }
    }

    @Test("show no more than where they were last")
    func limits() async throws {
        let ann = try await server.student("Ann")
        let bob = try Account(url: server.url)
        try await bob.signInForDemo(.google, name: "Bob", email: "bob@example.com")
        let others = Activities(bob.database, of: ann.person) { Students.morning }
        await expectDenial { try await others.live.load() }
        await expectDenial { try await others.live.follow() }
        #expect(others.live.problem?.contains("permission denied") == true)
        await expectDenial {
            try await bob.database.reference(withPath: "emails").getData()
        }
        // The newest before a time of one's choice would be all, one after the other.
        let newest = bob.database.reference(withPath: "activities").child(ann.person.id)
            .queryOrdered(byChild: "start").queryLimited(toLast: 1)
        _ = try await newest.getData()
        await expectDenial { try await newest.queryEnding(atValue: .int(5)).getData() }
    }

    @Test("are not found by an address that nobody has verified")
    func unverified() async throws {
        let eve = try Account(url: server.url)
        let token = #"{"sub":"e1","email":"ann@example.com","email_verified":false,"name":"Eve"}"#
        try await eve.signIn(.google, token: token)
        try await Session(eve.database, of: try eve.needPerson()).prepare()
        let bob = try await server.student("Bob")
        #expect(try await bob.friends.find("ann@example.com") == .unknown)
        try await bob.prepare()
        #expect(try await bob.friends.find("bob@example.com") == .nothingToday)
    }

    @Test("have an address")
    func addresses() async throws {
        let bob = try await server.student("Bob")
        await #expect(throws: FieldProblems(["email": "The email address is missing."])) {
            try await bob.friends.find(" ")
        }
        for address in ["a/b@example.com", "nobody", String(repeating: "x", count: 800)] {
            #expect(try await bob.friends.find(address) == .unknown, "\(address)")
        }
    }

    @Test("need not have one to sign in")
    func withoutAddress() async throws {
        let account = try Account(url: server.url)
        try await account.signIn(.campus, token: #"{"sub":"c1","name":"Nemo"}"#)
        let person = try account.needPerson()
        #expect(person.name == "Nemo")
        #expect(person.email == nil)
        try await Session(account.database, of: person).prepare()
        await #expect(throws: FieldProblems(["token": "The token is missing."])) {
            try await account.signIn(.facebook, token: " ")
        }
    }

    @Test(
        "are told in a sentence",
        arguments: [
            (FriendStatus.unknown, "Nobody here has the address a@b."),
            (.nothingToday, "a@b has not been anywhere today."),
        ])
    func sentences(status: FriendStatus, sentence: String) {
        #expect(status.sentence("a@b") { $0 } == sentence)
    }
}
