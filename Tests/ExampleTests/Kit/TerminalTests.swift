import HearthClient
import Observation
import HearthTestSupport
import Testing

@testable import HearthExampleTerminal

@Suite("Screens", .timeLimit(.minutes(15)))
@MainActor
struct TerminalTests {
    struct Item: Identifiable {
        var id: String
    }

    @Observable
    @MainActor
    final class Model {
        var items: [Item]?
        var name = "Letters"

        init(_ names: String...) { items = names.map(Item.init) }
    }

    private func list(
        _ model: Model, on user: TestTerminal, _ actions: [ListAction<Item>] = [.leave("q", "quit")]
    ) -> Task<Key?, any Error> {
        Task {
            try await user.terminal.list(
                { model.name }, { model.items }, empty: { "There is nothing." }, actions: actions
            ) { Line($0.id) }
        }
    }

    @Test("show a list that is drawn again when its items change")
    func live() async throws {
        let (model, user) = (Model(), TestTerminal())
        let shown = list(model, on: user, [.onItem(.enter, "open") { _ in }, .leave("q", "quit")])
        await user.wait(for: "There is nothing.")
        #expect(user.screen.lines.first == " Letters")
        #expect(user.screen.lines.last == " q quit", "what needs an item is not offered")
        model.items = ["a", "b"].map(Item.init)
        await user.wait(for: "▸ a")
        #expect(user.lines[...2] == ["▸ a", "  b", ""])
        #expect(user.screen.lines.last == " Enter open  q quit")
        model.name = "More letters"
        await user.wait(for: "More letters")
        user.press("q")
        #expect(try await shown.value == "q")
    }

    @Test("keep the chosen item chosen wherever it goes")
    func selection() async throws {
        let (model, user) = (Model("a", "b", "c"), TestTerminal())
        let shown = list(model, on: user)
        user.press(.down)
        await user.wait(for: "▸ b")
        model.items = ["0", "a", "b", "c"].map(Item.init)
        await user.wait { $0.text.contains("0") }
        #expect(user.lines[...3] == ["  0", "  a", "▸ b", "  c"])
        model.items = ["0", "a", "c"].map(Item.init)
        await user.wait(for: "▸ c")
        model.items = ["0"].map(Item.init)
        await user.wait(for: "▸ 0")
        model.items = nil
        #expect(try await shown.value == nil, "a list that no longer exists is left")
    }

    @Test("scroll a list that is longer than the screen")
    func scrolling() async throws {
        let (model, user) = (Model(), TestTerminal(rows: 9))
        model.items = (1...12).map { Item(id: "item \($0).") }
        let shown = list(model, on: user)
        for (key, chosen, first) in [
            (Key.pageDown, 6, 2), (.pageDown, 11, 7), (.pageDown, 12, 8), (.up, 11, 8), (.home, 1, 1), (.end, 12, 8),
            (.pageUp, 7, 7), (.down, 8, 7),
        ] {
            user.press(key)
            await user.wait(for: "▸ item \(chosen).")
            #expect(user.lines.first?.hasSuffix(" item \(first).") == true, "\(key)")
        }
        user.resize(columns: 30, rows: 6)
        await user.wait { $0.text.contains("▸ item 8.") }
        #expect(user.lines == ["  item 7.", "▸ item 8."])
        user.press("q")
        _ = try await shown.value
    }

    @Test("do what a key is for, with the chosen item")
    func actions() async throws {
        let (model, user) = (Model("a", "b"), TestTerminal())
        let shown = list(
            model, on: user,
            [
                .onItem("d", "delete") { item in model.items?.removeAll { $0.id == item.id } },
                .always("n", "new") { model.items?.append(Item(id: "c")) }, .leave("q", "quit"),
            ])
        user.press(.down, "d", "n", "x")
        await user.wait(for: "  c")
        #expect(user.lines[...2] == ["▸ a", "  c", ""])
        user.press("q")
        _ = try await shown.value
    }

    @Test("show a form until what is in it is taken")
    func form() async throws {
        let user = TestTerminal()
        var taken: [[String: String]] = []
        let shown = Task {
            try await user.terminal.form(
                "New account", [Field("name", "Name", text: "Al"), Field("password", "Password", kind: .secret)],
                does: "create"
            ) { values in
                taken.append(values)
                try FieldProblems.check([
                    "name": values["name"] == "Al" ? "Al is taken; choose another name." : nil,
                    "password": (values["password"] ?? "").count < 3 ? "At least three characters." : nil,
                ])
                if values["name"] == "Bob" { throw Problem("The server is asleep.") }
            }
        }
        // The name is there already.
        await user.wait(for: "Name      Al")
        #expect(user.screen.lines.last == " Enter create  Tab next  Esc back")
        user.press(.up)
        await user.wait(for: "Enter next")
        user.press(.enter)
        await user.wait(for: "Enter create")
        user.type("x")
        await user.wait(for: "Password  •")
        user.press(.enter)
        await user.wait(for: "Al is taken")
        #expect(user.screen.text.contains("At least three"))
        user.press(.control("u"))
        user.type("Bob")
        await user.wait { !$0.text.contains("Al is taken") && $0.text.contains("Name      Bob") }
        #expect(user.screen.cursor == (2, 14))
        user.press(.up)
        user.type("yz")
        user.press(.enter)
        await user.wait(for: "The server is asleep.")
        user.press(.backTab, .home, .delete)
        user.type("R")
        user.press(.tab, .enter)
        try await shown.value
        #expect(taken.last == ["name": "Rob", "password": "xyz"])
        #expect(!user.screen.text.contains("xyz"))
    }

    @Test("leave a form by Esc, and show the end of a text that is too long")
    func longText() async throws {
        let user = TestTerminal(columns: 20)
        let shown = Task { try await user.terminal.form("F", [Field("a", "Name")]) { _ in } }
        user.type("The quick brown fox")
        await user.wait(for: "brown fox")
        #expect(user.lines[0] == "Name  brown fox")
        user.press(.home)
        await user.wait(for: "The quick")
        user.press(.escape)
        try await shown.value
    }

    @Test("ask before they do something, with the page still alive", arguments: [true, false])
    func question(answer: Bool) async throws {
        let (model, user) = (Model("a"), TestTerminal())
        var answers: [Bool] = []
        let shown = list(
            model, on: user,
            [
                .onItem("d", "delete") { item in answers.append(try await user.terminal.confirm("Delete \(item.id)?"))
                },
                .leave("q", "quit"),
            ])
        user.press("d")
        await user.wait(for: "Delete a? y/n")
        model.items?.append(Item(id: "b"))
        await user.wait(for: "  b")
        user.press("x", answer ? "y" : "n")
        await user.wait { !$0.text.contains("Delete a?") }
        user.press("q")
        _ = try await shown.value
        #expect(answers == [answer])
    }

    @Test("say what they are doing, and what went wrong; Esc ends the waiting; keys wait")
    func work() async throws {
        let (model, user) = (Model("a"), TestTerminal())
        let gate = AsyncStream.makeStream(of: Void.self)
        let shown = list(
            model, on: user,
            [
                .always("w", "work") {
                    try await user.terminal.perform("Working…") { for await _ in gate.stream { break } }
                    model.name = Task.isCancelled ? "Ended" : "Done"
                },
                .always("s", "stop") {
                    try await user.terminal.perform("Waiting…") {
                        let (nothing, _) = AsyncStream.makeStream(of: Void.self)
                        for await _ in nothing {}
                        try Task.checkCancellation()
                    }
                },
                .always("l", "later") {
                    // As a write does that is still in the queue.
                    let isDone = try await user.terminal.perform("Writing…", isWrite: true) {
                        throw DatabaseError.cancelled
                    }
                    model.name = isDone ? "Later" : "Never"
                },
                .always("r", "read") {
                    let isDone = try await user.terminal.perform("Reading…") { throw DatabaseError.cancelled }
                    model.name = isDone ? "Read" : "Unread"
                },
                .leave("q", "quit"),
            ])
        user.press("w")
        await user.wait(for: "Working…")
        model.items?.append(Item(id: "b"))
        await user.wait(for: "  b")
        user.press(.down)
        gate.continuation.yield()
        await user.wait { $0.text.contains("Done") && $0.text.contains("▸ b") && !$0.text.contains("Working…") }
        user.press("s")
        await user.wait(for: "Waiting…")
        user.press(.escape)
        await user.wait(for: "Stopped.")
        user.press("l")
        await user.wait { $0.text.contains("not answered yet") && $0.text.contains("Later") }
        user.press("r")
        await user.wait { $0.text.contains("Stopped.") && $0.text.contains("Unread") }
        user.press("q")
        _ = try await shown.value
    }

    @Test("show at once what is told from elsewhere, and all the time why the list may be wrong")
    func told() async throws {
        let (model, user) = (Model("a"), TestTerminal())
        let shown = Task {
            try await user.terminal.list(
                { model.name }, { model.items }, empty: { "" },
                problem: { model.name == "Old" ? "It is old." : nil }, actions: [.leave("q", "quit")]
            ) { Line($0.id) }
        }
        await user.wait(for: "▸ a")
        user.terminal.message = "Somebody knocks."
        await user.wait(for: "Somebody knocks.")
        model.name = "Old"
        user.press(.down)
        await user.wait { $0.lines[10] == " It is old." && $0.text.contains("▸ a") }
        user.press("q")
        _ = try await shown.value
    }

    @Test("show a form what is wrong with what it does not ask for")
    func otherFields() async throws {
        let user = TestTerminal()
        let shown = Task {
            try await user.terminal.form("F", [Field("a", "Name")]) { _ in
                throw FieldProblems(["a": "Wrong name.", "b": "Wrong day."])
            }
        }
        await user.wait(for: "Name")
        user.press(.enter)
        await user.wait { $0.text.contains("Wrong name.") && $0.lines[10] == " Wrong day." }
        user.press(.escape)
        _ = try await shown.value
    }

    @Test("fit in any terminal", arguments: [(1, 1), (1, 9), (2, 2), (3, 24), (80, 1)])
    func tiny(columns: Int, rows: Int) async throws {
        let (model, user) = (Model("a"), TestTerminal(columns: columns, rows: rows))
        let shown = list(model, on: user)
        user.press(.down, "q")
        #expect(try await shown.value == "q")
        let form = Task { try await user.terminal.form("F", [Field("a", "Name", text: "Al")]) { _ in } }
        user.press(.escape)
        _ = try await form.value
    }

    @Test("offer choices until one has led somewhere")
    func choices() async throws {
        let (model, user) = (Model(), TestTerminal())
        let shown = Task {
            try await user.terminal.choose({ "Who?" }, while: { model.name == "Letters" }) {
                [Choice("Stay") { user.terminal.message = "Stayed." }, Choice("Go") { model.name = "Gone" }]
            }
        }
        await user.wait(for: "▸ Stay")
        user.press(.enter)
        await user.wait(for: "Stayed.")
        user.press(.down, .enter)
        try await shown.value
        model.name = "Letters"
        let left = Task { try await user.terminal.choose({ "Who?" }, while: { true }) { [Choice("Stay") {}] } }
        user.press("q")
        await #expect(throws: Quit.self) { try await left.value }
    }

    @Test("are all left by Ctrl-C, and when the terminal is gone", arguments: [true, false])
    func quit(isKey: Bool) async throws {
        let (model, user) = (Model("a"), TestTerminal())
        let shown = list(
            model, on: user,
            [
                .always("f", "form") {
                    try await user.terminal.form("F", [Field("a", "Form")]) { _ in }
                }
            ])
        user.press("f")
        await user.wait(for: "Form")
        if isKey { user.press(.control("c")) } else { user.terminal.post(.end) }
        await #expect(throws: Quit.self) { try await shown.value }
    }

    @Test("have a badge beside the title")
    func badge() async throws {
        let (model, user) = (Model("a"), TestTerminal(columns: 20))
        user.terminal.badge = { model.items?.count == 1 ? "offline" : nil }
        let shown = list(model, on: user)
        await user.wait(for: "offline")
        #expect(user.screen.lines[0] == " Letters    offline")
        model.items?.append(Item(id: "b"))
        await user.wait { !$0.text.contains("offline") }
        user.press("q")
        _ = try await shown.value
    }
}
