import ExampleKit

/// The threads of all users, until whoever is logged in is not any more.
@MainActor
func showThreads(_ session: Session, on terminal: Terminal) async throws {
    guard let member = session.member else { return }
    let list = ThreadList(session)
    try await terminal.perform("Loading…") { try await list.load() }
    let key = try await terminal.list(
        { "Threads: \(member.creator.name)" }, { session.member == member ? list.threads ?? [] : nil },
        empty: { list.threads == nil ? "Press r to try again." : "No thread yet. Press a to begin one." },
        problem: { list.problem },
        actions: [
            .onItem(.enter, "open") { thread in try await showMessages(of: thread, in: list, session, on: terminal) },
            .always("a", "add") {
                try await terminal.form("New thread", [Field("title", "Title")], does: "create") { values in
                    try await list.add(title: values["title"] ?? "")
                }
            },
            .onItem("d", "delete") { thread in
                guard list.mayDelete(thread) else {
                    terminal.message = Line("Only \(thread.creator.name) may delete '\(thread.title)'.", .wrong)
                    return
                }
                guard try await terminal.confirm("Delete '\(thread.title)' and its messages?") else { return }
                try await terminal.perform("Deleting…") { try await list.delete(thread) }
            },
            .always("r", "refresh") { try await terminal.perform("Loading…") { try await list.load() } },
            .leave("o", "log out"), .quit("q"),
        ]
    ) { thread in
        Line(thread.title.padded(to: 34), .bold) + Line("  \(thread.creator.name.padded(to: 20))")
            + Line("  \(thread.created)", .faint)
    }
    if key == "o" { try session.logOut() }
}

/// The messages of a thread, until the user goes back or is not logged in any more.
@MainActor
private func showMessages(
    of thread: ThreadItem, in threads: ThreadList, _ session: Session, on terminal: Terminal
) async throws {
    let member = session.member
    let list = MessageList(session, of: thread)
    guard try await terminal.perform("Loading…", { try await list.load() }) else {
        // It may be gone.
        try? await threads.load()
        return
    }
    try await terminal.list(
        { "\(thread.title) (\(thread.creator.name))" }, { session.member == member ? list.messages : nil },
        empty: { "No message yet. Press a to write one." }, problem: { list.problem },
        actions: [
            .onItem(.enter, "read") { message in try await showMessage(message, in: list, on: terminal) },
            .always("a", "add") {
                try await terminal.form("New message", [Field("message", "Message")], does: "send") { values in
                    try await list.add(values["message"] ?? "")
                }
            },
            .onItem("d", "delete") { message in _ = try await delete(message, in: list, on: terminal) },
            .always("r", "refresh") { try await terminal.perform("Loading…") { try await list.load() } },
            .leave(.escape, "back"),
        ]
    ) { message in
        Line("\(message.creator.name.padded(to: 20))  ") + Line("\(message.created)  ", .faint) + Line(message.text)
    }
}

/// One message with all its text, until the user goes back or has deleted it.
@MainActor
private func showMessage(_ message: MessageItem, in list: MessageList, on terminal: Terminal) async throws {
    let scroll = Scroll()
    _ = try await terminal.show { size in
        let head: [Line] = [
            Line("From  ", .faint) + Line(message.creator.name, .bold), Line("Date  ", .faint) + "\(message.created)",
            "",
        ]
        let text = message.text.wrapped(to: size.columns - 2).map { Line($0) }
        let lines = scroll.part(of: head + text, rows: Page.rows(in: size))
        let deletes: [(Key, String)] = list.mayDelete(message) ? [("d", "delete")] : []
        return Page("Message in \(list.thread.title)", lines, hints: deletes + [(.escape, "back")])
    } press: { key in
        switch key {
        case .escape: return true
        case "d": return try await delete(message, in: list, on: terminal) ? true : nil
        default:
            scroll.press(key)
            return nil
        }
    }
}

/// Deletes a message of the user's own, if that is meant; whether it was done.
@MainActor
private func delete(_ message: MessageItem, in list: MessageList, on terminal: Terminal) async throws -> Bool {
    guard list.mayDelete(message) else {
        terminal.message = Line("Only \(message.creator.name) may delete this message.", .wrong)
        return false
    }
    guard try await terminal.confirm("Delete this message?") else { return false }
    return try await terminal.perform("Deleting…") { try await list.delete(message) }
}

/// Which part of a long text is visible.
@MainActor
private final class Scroll {
    private var top = 0
    private var rows = 1

    func part(of lines: [Line], rows: Int) -> [Line] {
        self.rows = rows
        top = max(min(top, lines.count - rows), 0)
        return Array(lines.dropFirst(top))
    }

    func press(_ key: Key) {
        switch key {
        case .up: top = max(top - 1, 0)
        case .down: top += 1
        case .pageUp: top = max(top - rows, 0)
        case .pageDown: top += rows
        default: break
        }
    }
}
