import Glibc
import HearthAdmin
import HearthClient
import HearthHTTP
import HearthSystem
import HearthTestSupport
import Testing

@Suite("Small example programs", .timeLimit(.minutes(15)))
struct SmallProgramTests {
    @Test("Hello shows the greetings of both who run it")
    func hello() async throws {
        let server = try ExampleServer("Hello", rules: "../sample-rules", isSeeded: false)
        let ann = try PseudoTerminal("hearth-hello", ["Ann", server.url])
        try await ann.wait(for: "Ann: Hello!")
        let bob = try PseudoTerminal("hearth-hello", ["Bob", server.url])
        try await bob.wait(for: "Bob: Hello!")
        try await ann.wait(for: "Bob: Hello!")
        #expect(bob.screen.text.contains("Ann: Hello!"))
    }

    @Test("Hello says why it does nothing")
    func helloProblems() async throws {
        let usage = try PseudoTerminal("hearth-hello", [])
        _ = try await usage.outcome()
        #expect(usage.screen.text.contains("usage: hearth-hello NAME [URL]"))
        let url = try PseudoTerminal("hearth-hello", ["Ann", "nowhere"])
        _ = try await url.outcome()
        #expect(url.screen.text.contains("hearth-hello: "))
        let closed = try PseudoTerminal("hearth-hello", ["Ann", "http://127.0.0.1:1"])
        _ = try await closed.outcome()
        #expect(closed.screen.text.contains("hearth-hello: "))
    }

    @Test("Chat shows who comes, what they say and who goes")
    func chat() async throws {
        let server = try ExampleServer("Chat", rules: "chat", isSeeded: false)
        let ann = try PseudoTerminal("hearth-chat", ["Ann", "hall", server.url])
        try await ann.wait(for: "* Ann is here")
        let bob = try PseudoTerminal("hearth-chat", ["Bob", "hall", server.url])
        try await bob.wait(for: "* Ann is here")
        try await ann.wait(for: "* Bob is here")
        bob.type("Anybody here?", .enter)
        try await ann.wait(for: "Bob: Anybody here?")
        bob.type(.control("d"))
        #expect(try await bob.outcome() == 0)
        try await ann.wait(for: "* Bob has left")

        // A later user sees earlier messages, and rooms are separate.
        let cem = try PseudoTerminal("hearth-chat", ["Cem", "hall", server.url])
        try await cem.wait(for: "Bob: Anybody here?")
        try await ann.wait(for: "* Cem is here")
        cem.signal(SIGKILL)
        try await ann.wait(for: "* Cem has left")
        let dora = try PseudoTerminal("hearth-chat", ["Dora", "attic", server.url])
        try await dora.wait(for: "* Dora is here")
        #expect(!dora.screen.text.contains("Anybody"))
    }

    @Test("Chat says why it may not enter")
    func chatProblems() async throws {
        let server = try ExampleServer("Chat", rules: "chat", isSeeded: false)
        let name = String(repeating: "x", count: 41)
        let ann = try PseudoTerminal("hearth-chat", [name, "hall", server.url])
        _ = try await ann.outcome()
        #expect(ann.screen.text.contains("hearth-chat: permission denied"))
    }

    private static func run(_ words: String...) async throws -> String {
        let program = try PseudoTerminal(words[0], Array(words.dropFirst()))
        #expect(try await program.outcome() == 0)
        return program.screen.text
    }

    @Test("Shop keeps its totals, and finds open orders by price")
    func shop() async throws {
        let server = try ExampleServer("Shop", rules: "shop", isSeeded: false, settings: "shop")
        func run(_ words: String...) async throws -> String {
            let program = try PseudoTerminal("hearth-shop", words + [server.url])
            #expect(try await program.outcome() == 0)
            return program.screen.text
        }
        for (item, price) in [("tea", "5"), ("pot", "12.5"), ("cup", "3")] { _ = try await run("order", item, price) }
        #expect(try await run("totals").contains("3 orders, 20.5 in all"))
        let open = try await run("open", "4")
        #expect(open.contains("pot 12.5"))
        #expect(open.contains("tea 5.0"))
        #expect(!open.contains("cup"))
        let key = try #require(open.split(separator: "\n").first { $0.contains("pot") }?.split(separator: " ").first)
        _ = try await run("ship", String(key))
        #expect(try await !run("open").contains("pot"))
        #expect(try await run("order", "gift", "0").contains("permission denied"))
        #expect(try await run("open", "4", "5").contains("usage"))
    }

    @Test("Mailer sends each letter once, and tries one again that nobody takes")
    func mailer() async throws {
        let server = try ExampleServer("Mailer", rules: "mailer", isSeeded: false, settings: "mailer")
        let wanda = try PseudoTerminal("hearth-mailer", ["work", "Wanda", server.url])
        try await wanda.wait(for: "Wanda works")
        let willy = try PseudoTerminal("hearth-mailer", ["work", "Willy", server.url])
        try await willy.wait(for: "Willy works")
        for number in 0..<6 {
            _ = try await Self.run("hearth-mailer", "write", "Ann", "letter \(number)", server.url)
        }
        _ = try await Self.run("hearth-mailer", "write", "Nobody", "hello", server.url)
        let database = try Database(url: server.url)
        for try await dead in database.reference(withPath: "mail/dead").values(as: [String: DatabaseValue].self) {
            if dead?.count == 1 { break }
        }
        for try await jobs in database.reference(withPath: "mail/jobs").values(as: [String: DatabaseValue].self) {
            if jobs == nil { break }
        }
        #expect(try await database.reference(withPath: "sent").getData().childrenCount == 6)
        await database.close()
        var shown: String { wanda.screen.text + willy.screen.text }
        try await eventually("the second attempt") { shown.contains("attempt 2 for Nobody failed") }
        for number in 0..<6 { #expect(shown.matches(of: try Regex("letter \(number)")).count == 1, "\(number)") }
    }

    @Test("Receipts sends a letter for each order once, although an event comes twice")
    func receipts() async throws {
        let server = try ExampleServer("Receipts", rules: "receipts", isSeeded: false)
        let listener = try PseudoTerminal("hearth-receipts", ["listen", "127.0.0.1:0", server.url])
        try await listener.wait(for: "takes events at http")
        let address = try #require(listener.screen.text.firstMatch(of: /127\.0\.0\.1:[0-9]+/)).output
        let settings = try #require(FileBytes.read("\(ExampleServer.project)/deploy/settings/receipts.json"))
        let admin = try Administrator(developmentURL: server.url)
        try await admin.setSettings(
            String(decoding: settings, as: UTF8.self).replacing("127.0.0.1:8080", with: address))
        let worker = try PseudoTerminal("hearth-receipts", ["work", server.url])
        for (name, item) in [("Ann", "tea"), ("Bob", "pot")] {
            _ = try await Self.run("hearth-receipts", "order", name, item, server.url)
            try await listener.wait(for: "a letter to \(name)")
            try await worker.wait(for: "Dear \(name), thank you for your order: \(item).")
        }
        let database = try Database(url: server.url)
        let letters = database.reference(withPath: "letters")
        for try await jobs in letters.child("jobs").values(as: [String: DatabaseValue].self) where jobs == nil { break }
        let sent = try await letters.child("sent").getData().children.compactMap(\.key)
        #expect(sent.count == 2)
        await database.close()
        let client = try HTTPClient()
        for id in sent {
            let event = #"{"id":"\#(id)","data":{"data":null,"delta":{"name":"Ann","item":"tea"}}}"#
            #expect(try await client.post("http://\(address)/", json: Array(event.utf8)).status == 204)
        }
        try await listener.wait(for: "a letter to Ann again")
        #expect(try await client.post("http://\(address)/", json: Array("{}".utf8)).status == 410)
        #expect(worker.screen.text.matches(of: /Dear/).count == 2)
    }

    @Test("Whispers go when their time has come")
    func whispers() async throws {
        let server = try ExampleServer("Whispers", rules: "whispers", isSeeded: false, settings: "whispers")
        let listener = try PseudoTerminal("hearth-whispers", ["listen", server.url])
        _ = try await Self.run("hearth-whispers", "say", "stays", server.url)
        _ = try await Self.run("hearth-whispers", "say", "goes", "0.5", server.url)
        try await listener.wait(for: "+ stays")
        try await listener.wait(for: "- goes")
        #expect(!listener.screen.text.contains("- stays"))
    }

    @Test("Names are taken once")
    func names() async throws {
        let server = try ExampleServer("Names", rules: "names", isSeeded: false, settings: "names")
        #expect(try await Self.run("hearth-names", "take", "u1", "Ann", server.url).contains("u1 is Ann"))
        #expect(try await Self.run("hearth-names", "take", "u2", "ANN", server.url).contains("ANN is taken"))
        #expect(try await Self.run("hearth-names", "take", "u2", "Bob", server.url).contains("u2 is Bob"))
        let list = try await Self.run("hearth-names", "list", server.url)
        #expect(list.contains("u1 is Ann"))
        #expect(list.contains("u2 is Bob"))
    }
}
