import HearthExampleKit

/// The threads of all users, until the user is no longer logged in.
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
            .onItem("d", "delete", where: list.mayDelete) { thread in
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
            .onItem("d", "delete", where: list.mayDelete) { message in try await delete(message, in: list, on: terminal)
            },
            .always("r", "refresh") { try await terminal.perform("Loading…") { try await list.load() } },
            .leave(.escape, "back"),
        ]
    ) { message in
        Line("\(message.creator.name.padded(to: 20))  ") + Line("\(message.created)  ", .faint) + Line(message.text)
    }
}

/// One message with all its text, until the user goes back or it no longer exists.
@MainActor
private func showMessage(_ message: MessageItem, in list: MessageList, on terminal: Terminal) async throws {
    let head: [Line] = [
        Line("From  ", .faint) + Line(message.creator.name, .bold), Line("Date  ", .faint) + "\(message.created)", "",
    ]
    let deleting = ListAction<Never>.always("d", "delete") { try await delete(message, in: list, on: terminal) }
    try await terminal.showText(
        "Message in \(list.thread.title)", head: head,
        { list.messages?.first { $0.id == message.id }?.text }, actions: list.mayDelete(message) ? [deleting] : [])
}

/// Deletes a message of the user's own, if that is meant.
@MainActor
private func delete(_ message: MessageItem, in list: MessageList, on terminal: Terminal) async throws {
    guard list.mayDelete(message) else {
        terminal.message = Line("Only \(message.creator.name) may delete this message.", .wrong)
        return
    }
    guard try await terminal.confirm("Delete this message?") else { return }
    try await terminal.perform("Deleting…") { try await list.delete(message) }
}
