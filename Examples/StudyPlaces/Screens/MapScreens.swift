import ExampleKit

/// The map, until the user goes back.
@MainActor
func showMap(_ session: Session, on terminal: Terminal) async throws {
    try await showMap("Map", session, on: terminal) { PlaceMap.legend }
}

/// Asks for a friend's address, and shows where the friend is.
@MainActor
func askFriend(_ session: Session, on terminal: Terminal) async throws {
    var found: String?
    try await terminal.form("Find a friend", [Field("email", "Email address")], does: "find") { values in
        let email = values["email"] ?? ""
        try await session.friends.find(email)
        found = email.trimmed
    }
    guard let email = found else { return }
    try await showFriend(email, session, on: terminal)
    session.friends.forget()
}

@MainActor
private func showFriend(_ email: String, _ session: Session, on terminal: Terminal) async throws {
    async let _ = session.friends.follow(email)
    try await showMap("Friend", session, on: terminal) {
        if let problem = session.friends.problem { return Line(problem, .wrong) }
        return Line(session.friends.status?.sentence(email, name: session.places.name) ?? "One moment…")
    }
}

/// A map below a line.
@MainActor
private func showMap(
    _ title: String, _ session: Session, on terminal: Terminal, _ above: @escaping @MainActor () -> Line
) async throws {
    let _: Bool? = try await terminal.show { size in
        let map = session.map(Size(columns: max(size.columns - 2, 0), rows: Page.rows(in: size) - 1))
        return Page(title, [above()] + map, hints: [(.escape, "back")])
    } press: { key in
        key == .escape ? true : nil
    }
}
