import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import HearthTestSupport
import Testing

@Suite("Accounts of example programs", .timeLimit(.minutes(15)))
@MainActor
struct AccountTests {
    private let server: ExampleServer

    init() throws { server = try ExampleServer("Todo", rules: "todo") }

    @Test(
        "say field by field what is wrong with a new one",
        arguments: [
            ("", "ann@example.com", "secret", nil, ["name": "Say what you are called."]),
            ("  ", "ann@example.com", "secret", nil, ["name": "Say what you are called."]),
            ("Ann", "", "secret", nil, ["email": "This is not an email address."]),
            ("Ann", "ann", "secret", nil, ["email": "This is not an email address."]),
            ("Ann", "@example.com", "secret", nil, ["email": "This is not an email address."]),
            ("Ann", "ann@x@y", "secret", nil, ["email": "This is not an email address."]),
            ("Ann", "a nn@example.com", "secret", nil, ["email": "This is not an email address."]),
            ("Ann", "ann@example.com", "secret", "secre", ["confirmation": "This is not the same password."]),
            (
                "", "x", "", "y",
                ["name": "Say what you are called.", "confirmation": "This is not the same password."]
            ),
        ] as [(String, String, String, String?, [String: String])])
    func fields(
        name: String, email: String, password: String, confirmation: String?, problems: [String: String]
    ) async throws {
        let account = try Account(url: server.url)
        var values = ["name": name, "email": email, "password": password]
        values["confirmation"] = confirmation
        await #expect(throws: FieldProblems(problems)) { try await account.signUp(values) }
        #expect(account.person == nil)
        let error = await #expect(throws: FieldProblems.self) {
            try await account.signUp(["name": "Ann", "email": "ann@example.com", "password": "12345"])
        }
        #expect(error?.fields.keys.sorted() == ["password"])
    }

    @Test("are made with a name, an address and a password, and nobody else gets the address")
    func signUp() async throws {
        let ann = try Account(url: server.url)
        try await ann.signUp([
            "name": " Ann ", "email": " ann@example.com ", "password": " secret", "confirmation": " secret",
        ])
        #expect(ann.person?.name == "Ann")
        #expect(ann.person?.email == "ann@example.com")
        #expect(ann.person?.id == ann.auth.currentUser?.uid)
        let other = try Account(url: server.url)
        let taken = "There is an account with this email address already."
        await #expect(throws: FieldProblems(["email": taken])) {
            try await other.signUp(["name": "Other", "email": "ann@example.com", "password": "secret"])
        }
        #expect(other.person == nil)
        try await other.signUp(name: "Other", email: "other@example.com", password: "secret")
        #expect(other.person?.name == "Other")
    }

    @Test("are not left half made when nobody waits for their name")
    func half() async throws {
        var wasHalf = false
        for number in 0..<50 where !wasHalf {
            let account = try Account(url: server.url)
            let email = "ann\(number)@example.com"
            let making = Task { try await account.signUp(name: "Ann", email: email, password: "secret") }
            for await user in account.auth.stateChanges where user != nil { break }
            making.cancel()
            do { try await making.value } catch {
                wasHalf = true
                #expect(account.auth.currentUser == nil)
                #expect(account.person == nil)
                try await account.signUp(name: "Ann", email: email, password: "secret")
            }
            #expect(account.person?.name == "Ann")
        }
        #expect(wasHalf)
    }

    @Test("that cannot be signed in to say why")
    func signIn() async throws {
        let ann = try await server.signUp("Ann").person
        let account = try Account(url: server.url)
        for (email, password, problems) in [
            ("", "x", ["email": "This is not an email address."]),
            ("ann@example.com", "", ["password": "The password is missing."]),
            ("ann", "x", ["email": "This is not an email address."]),
            ("bob@example.com", "secret", ["email": "There is no such user."]),
            ("ann@example.com", "secret", ["password": "The password is wrong."]),
        ] {
            await #expect(throws: FieldProblems(problems), "\(email)") {
                try await account.signIn(["email": email, "password": password])
            }
        }
        try await account.signIn(["email": " ann@example.com", "password": "secret-Ann"])
        #expect(account.person == ann)
    }

    @Test("of a server that keeps to itself who has one are not told apart")
    func production() async throws {
        let server = try ExampleServer("Todo", rules: "todo", isDevelopment: false)
        _ = try await server.signUp("Ann")
        let account = try Account(url: server.url)
        for email in ["ann@example.com", "bob@example.com"] {
            await #expect(throws: FieldProblems(["password": "The email address, the password or the token is wrong."]))
            {
                try await account.signIn(["email": email, "password": "wrong!"])
            }
        }
    }

    @Test("stay signed in between runs, until they sign out")
    func session() async throws {
        let (account, ann) = try await server.signUp("Ann")
        account.auth.close()
        let again = try Account(url: server.url, sessionFile: server.sessionFile("Ann"))
        #expect(again.person == ann)
        try again.signOut()
        #expect(again.person == nil)
        #expect(try Account(url: server.url, sessionFile: server.sessionFile("Ann")).person == nil)
        #expect(throws: Problem("nobody is signed in: sign in first")) { try again.needPerson() }
    }

    @Test("follow what happens to the session and the connection")
    func follow() async throws {
        let (account, ann) = try await server.signUp("Ann")
        await alongside(account.follow) {
            await until { account.isOnline }
            account.database.goOffline()
            await until { !account.isOnline }
            #expect(account.person == ann)
        }
        try await alongside(account.follow) {
            try account.auth.signOut()
            await until { account.person == nil }
        }
    }

    @Test("that cannot reach their server say so")
    func unreachable() async throws {
        let account = try Account(url: "http://127.0.0.1:1")
        let error = await #expect(throws: AuthError.self) {
            try await account.signIn(email: "ann@example.com", password: "secret")
        }
        #expect(error?.code == .networkError)
    }
}
