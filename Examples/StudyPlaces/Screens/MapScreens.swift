import HearthExampleKit
import HearthExampleTerminal
import HearthClient

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

/// A map below a line. A place is chosen with the arrow keys or Tab; Enter shows all about it.
@MainActor
private func showMap(
    _ title: String, _ session: Session, on terminal: Terminal, _ above: @escaping @MainActor () -> Line
) async throws {
    let choice = ChosenPlace()
    let _: Bool? = try await terminal.show { size in
        let room = (columns: max(size.columns - 2, 0), rows: Page.rows(in: size) - 1)
        let chosen = choice.id.flatMap { session.places.place($0) }
        let details = chosen.map { Line("\($0.name): \($0.freeSeats), \($0.address)", .bold) }
        return Page(
            title, [above()] + session.map(room, chosen: chosen?.id),
            hints: [(.tab, "next place")] + (chosen == nil ? [] : [(.enter, "open")]) + [(.escape, "back")],
            notice: details)
    } press: { key in
        switch key {
        case .escape: return true
        case .tab, .right, .down: choice.move(by: 1, in: session.places.places)
        case .backTab, .left, .up: choice.move(by: -1, in: session.places.places)
        case .enter: if let id = choice.id { try await showPlace(id, session, on: terminal) }
        default: break
        }
        return nil
    }
}

/// The place that is chosen on a map.
@MainActor
private final class ChosenPlace {
    private(set) var id: String?

    /// Chooses the next place by name, or the one before; the first or the last if none was chosen.
    func move(by count: Int, in places: [DatabaseChild<Place>]) {
        guard !places.isEmpty else { return }
        let next = places.firstIndex { $0.id == id }.map { $0 + count } ?? (count > 0 ? 0 : -1)
        id = places[(next + places.count) % places.count].id
    }
}
