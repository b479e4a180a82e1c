import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import HearthTestSupport
import Testing

@testable import HearthStudyPlaces

@Suite("Study places on a terminal", .timeLimit(.minutes(15)))
struct StudyPlacesScreenTests {
    private let program = "hearth-study-places"

    private func signIn(_ name: String, with provider: String, _ terminal: PseudoTerminal) async throws {
        let choices = ["Facebook", "Campus account (OpenID Connect)", "Google"]
        for choice in choices { try await terminal.wait(for: "Sign in with \(choice)") }
        for _ in 0..<(choices.firstIndex { $0.hasPrefix(provider) } ?? 0) { terminal.type(.down) }
        terminal.type("d")
        try await terminal.wait(for: "made up")
        terminal.type(.text(name), .enter, "nowhere", .enter)
        try await terminal.wait(for: "This is not an email address.")
        terminal.type(.control("u"), .text("\(name)@example.com"), .enter)
        try await terminal.wait(for: "Study places: \(name)")
        try await terminal.wait(for: "University Library")
    }

    @Test("two users at once: seats, stays, and each other on the map")
    func twoUsers() async throws {
        // Neither finds places that somebody else has entered.
        let server = try ExampleServer("StudyPlaces", rules: "study-places", isSeeded: false)
        let ann = try server.open(program, session: "ann")
        let bob = try server.open(program, session: "bob")
        async let annIsIn: Void = signIn("Ann", with: "Facebook", ann)
        async let bobIsIn: Void = signIn("Bob", with: "Campus", bob)
        _ = try await (annIsIn, bobIsIn)

        // The sixth of the places by name.
        ann.type(.home, .down, .down, .down, .down, .down, .enter)
        try await ann.wait(for: "Leopoldstraße 13")
        for text in ["48.1561, 11.58397", "Mon–Thu 9:00–20:00", "Student card   needed", "Free seats     2 of 2"] {
            try await ann.wait(for: text)
        }
        try await bob.wait(for: "2 of 2")
        ann.type("c")
        try await ann.wait(for: "You are here.")
        try await bob.wait(for: "1 of 2")
        ann.type("c")
        try await ann.wait(for: "You are checked in already; check out first.")

        bob.type("f")
        try await bob.wait(for: "Find a friend")
        bob.type("ann@example.com", .enter)
        try await bob.wait(for: "ann@example.com is at Studio Schwabing since")
        try await bob.wait(for: "★ Studio Schwabing 1/2")
        try await bob.wait(for: "● City Library 90/90")
        bob.resize(columns: 60, rows: 14)
        try await bob.wait(for: "the map in the smaller size") { screen in
            screen.lines.count == 14 && screen.text.contains("★") && screen.lines[13].contains("Esc")
        }
        ann.type("o")
        try await ann.wait(for: "Leave Studio Schwabing?")
        ann.type("n")
        try await ann.waitUntilGone("Leave Studio Schwabing?")
        try await ann.wait(for: "You are here.")
        ann.type("o")
        try await ann.wait(for: "Leave Studio Schwabing?")
        ann.type("y")
        try await bob.wait(for: "ann@example.com was at Studio Schwabing today")
        try await bob.waitUntilGone("★")
        // What is typed before this is over would be lost.
        try await ann.wait(for: "c check in")
        try await ann.waitUntilGone("Checking out…")
        ann.type(.escape, "a")
        try await ann.wait(for: "Activities of Ann")
        try await ann.wait(for: "0 min")
        ann.type("d")
        try await ann.wait(for: "Delete this activity?")
        ann.type("y")
        try await ann.wait(for: "None yet.")
        try await ann.waitUntilGone("Deleting…")
        try await bob.wait(for: "ann@example.com has not been anywhere today.")

        bob.resize(columns: 80, rows: 24)
        bob.type(.escape, "f")
        try await bob.wait(for: "Find a friend")
        bob.type("cem@example.com", .enter)
        try await bob.wait(for: "Nobody here has the address cem@example.com.")
        bob.type(.escape, "s")
        try await bob.wait(for: "Sign in with Facebook")
        bob.type("q")
        #expect(try await bob.outcome() == 0)
        ann.type(.escape, "m")
        try await ann.wait(for: "● seats free")
        ann.type(.escape, "q")
        #expect(try await ann.outcome() == 0)
    }

    @Test("a place is chosen on the map, which opens a page with details")
    @MainActor
    func markers() async throws {
        let server = try ExampleServer("StudyPlaces", rules: "study-places")
        let account = try Account(url: server.url, sessionFile: server.sessionFile("ann"))
        try await account.signInForDemo(.google, name: "Ann", email: "ann@example.com")
        let terminal = try server.open(program, session: "ann", columns: 100)
        try await terminal.wait(for: "Continue as Ann")
        terminal.type(.enter)
        try await terminal.wait(for: "University Library")
        terminal.type("m")
        try await terminal.wait(for: "● seats free")
        #expect(!terminal.screen.text.contains("Enter open"))
        terminal.type(.tab)
        try await terminal.wait(for: "Café Isar: 14 of 14, ")
        terminal.type(.backTab)
        try await terminal.wait(for: "University Library: ")
        terminal.type(.right, .right, .right)
        try await terminal.wait(for: "City Library: 90 of 90")
        terminal.type(.enter)
        try await terminal.wait(for: "Student card")
        terminal.type(.escape)
        try await terminal.wait(for: "● seats free")
    }

    @Test("somebody who was signed in before is asked whether to continue")
    @MainActor
    func continuing() async throws {
        let server = try ExampleServer("StudyPlaces", rules: "study-places")
        let account = try Account(url: server.url, sessionFile: server.sessionFile("ann"))
        try await account.signInForDemo(.facebook, name: "Ann", email: "ann@example.com")
        let terminal = try server.open(program, session: "ann")
        try await terminal.wait(for: "Continue as Ann")
        #expect(!terminal.screen.text.contains("Sign in with"))
        terminal.type(.down, .enter)
        try await terminal.wait(for: "Sign in with Facebook")
        terminal.type("q")
        #expect(try await terminal.outcome() == 0)
        #expect(try server.person("ann") == nil)
    }

    @Test("are there for scripts")
    func commands() async throws {
        let server = try ExampleServer("StudyPlaces", rules: "study-places", isSeeded: false)
        func run(_ session: String, _ words: String...) async throws -> (text: String, code: Int32) {
            try await server.run(program, session: session, words: words)
        }
        #expect(
            try await run("ann", "sign-in-demo", "campus", "Ann", "ann@example.com").text == "Welcome, Ann.")
        #expect(try await run("bob", "sign-in-demo", "google", "Bob", "bob@example.com").text == "Welcome, Bob.")
        #expect(try await run("bob", "who").text == "Bob bob@example.com")
        let places = try await run("ann", "places").text.split(separator: "\n")
        #expect(places.count == 8)
        #expect(places.first?.hasPrefix("Café Isar             14 of 14          daily 9:00") == true)
        #expect(try await run("bob", "friend", "ann@example.com").text.hasSuffix("has not been anywhere today."))
        #expect(try await run("ann", "check-in", "café isar").text == "You have a seat at Café Isar.")
        #expect(try await run("bob", "places").text.contains("13 of 14"))
        #expect(
            try await run("bob", "friend", "ann@example.com").text.hasPrefix("ann@example.com is at Café Isar since "))
        #expect(try await run("bob", "map", "ann@example.com").text.contains("★"))
        #expect(try await run("bob", "map").text.split(separator: "\n").dropLast().allSatisfy { !$0.contains("★") })
        #expect(try await run("ann", "activities").text.hasSuffix("now"))
        #expect(try await run("ann", "check-out").code == 0)
        #expect(try await run("ann", "activities").text.hasSuffix("0 min"))
        #expect(try await run("bob", "friend", "ann@example.com").text.contains("was at Café Isar today"))
        #expect(try await run("ann", "delete", "1").code == 0)
        for (words, reason) in [
            (["delete", "1"], "there is no activity 1"), (["check-out"], "You are not checked in."),
            (["check-in", "Moon"], "there is no place 'Moon'"),
            (["sign-in", "apple"], "the providers are: facebook, campus, google"),
        ] {
            let result = try await server.run(program, session: "ann", words: words)
            #expect(result.text == "\(program): \(reason)")
            #expect(result.code == 1)
        }
        let nobody = try await run("nobody", "places")
        #expect(nobody.text.hasPrefix("\(program): nobody is signed in"))
        #expect(nobody.code == 1)
    }

    @Test("are signed in to with a provider's token, which is not shown")
    func token() async throws {
        let server = try ExampleServer("StudyPlaces", rules: "study-places")
        let terminal = try server.open(program, session: "ann")
        try await terminal.wait(for: "Sign in with Google")
        terminal.type(.end, .enter)
        try await terminal.wait(for: "Token")
        terminal.type(.enter)
        try await terminal.wait(for: "The token is missing.")
        terminal.type("nonsense", .enter)
        let screen = try await terminal.wait(for: "is wrong")
        #expect(!screen.text.contains("nonsense"))
        terminal.type(.control("u"), #"{"sub":"1","name":"Ann"}"#, .enter)
        try await terminal.wait(for: "Study places: Ann")
    }
}
