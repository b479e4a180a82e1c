import HearthExampleKit
import HearthExampleTerminal
import HearthClient

/// The places, until the user signs out.
@MainActor
func showPlaces(_ session: Session, _ account: Account, on terminal: Terminal) async throws {
    async let _ = session.places.live.follow()
    async let _ = session.activities.live.follow()
    async let _ = prepare(session, on: terminal)
    let key = try await terminal.list(
        { session.title }, { account.person == session.person ? session.places.places : nil },
        empty: { "No place yet." }, problem: { session.problem },
        actions: [
            .onItem(.enter, "open") { try await showPlace($0.id, session, on: terminal) },
            .always("o", "check out") { try await checkOut(session, on: terminal) },
            .always("a", "activities") { try await showActivities(session, on: terminal) },
            .always("f", "friend") { try await askFriend(session, on: terminal) },
            .always("m", "map") { try await showMap(session, on: terminal) },
            .leave("s", "sign out", asks: true), .quit("q"),
        ]
    ) { place in
        Line(place.name.padded(to: 24), .bold)
            + Line(place.freeSeats.padded(to: 12), place.isFull ? .wrong : .well) + Line(place.hours, .faint)
    }
    if key == "s" { try account.signOut() }
}

@MainActor
private func prepare(_ session: Session, on terminal: Terminal) async {
    do { try await session.prepare() } catch {
        if !Task.isCancelled { terminal.message = Line(Problem.text(of: error), .wrong) }
    }
}

/// All about a place, until the user goes back or the place no longer exists.
@MainActor
func showPlace(_ id: String, _ session: Session, on terminal: Terminal) async throws {
    let _: Bool? = try await terminal.show { _ in
        guard let place = session.places.place(id) else { return nil }
        let isHere = session.activities.current?.location == id
        let rows = [
            ("Address", place.address), ("Coordinates", "\(place.latitude), \(place.longitude)"),
            ("Opening hours", place.hours), ("Student card", place.needsStudentCard ? "needed" : "not needed"),
            ("Free seats", place.freeSeats),
        ]
        let lines = rows.map { Line($0.padded(to: 15), .faint) + Line($1) }
        let here = isHere ? ["", Line("You are here.", .well)] : []
        return Page(
            place.name, lines + here,
            hints: [isHere ? ("o", "check out") : ("c", "check in"), (.escape, "back")],
            notice: session.problem.map { Line($0, .wrong) })
    } press: { key in
        switch key {
        case "c":
            guard let place = session.places.place(id) else { return nil }
            try await terminal.perform("Taking a seat…") { try await session.activities.checkIn(at: place) }
        case "o": try await checkOut(session, on: terminal)
        case .escape: return true
        default: break
        }
        return nil
    }
}

@MainActor
private func checkOut(_ session: Session, on terminal: Terminal) async throws {
    if let current = session.activities.current {
        guard try await terminal.confirm("Leave \(session.places.name(of: current.location))?") else { return }
    }
    try await terminal.perform("Checking out…") { try await session.activities.checkOut() }
}

/// Where the user has been, until they go back.
@MainActor
private func showActivities(_ session: Session, on terminal: Terminal) async throws {
    try await terminal.list(
        { "Activities of \(session.person.name)" }, { session.activities.activities },
        empty: { "None yet. Check in at a place." }, problem: { session.problem },
        actions: [
            .always("o", "check out") { try await checkOut(session, on: terminal) },
            .onItem("d", "delete") { activity in
                guard try await terminal.confirm("Delete this activity?") else { return }
                try await terminal.perform("Deleting…", isWrite: true) { try await session.activities.delete(activity) }
            },
            .leave(.escape, "back"),
        ]
    ) { session.line($0) }
}

extension Session {
    /// Why the shown data may be wrong.
    fileprivate var problem: String? { places.live.problem ?? activities.live.problem }

    fileprivate var title: String {
        guard let activity = activities.current else { return "Study places: \(person.name)" }
        return "Study places: \(person.name) at \(places.name(of: activity.location)) since \(activity.started.time)"
    }

    /// An activity on one line.
    func line(_ activity: DatabaseChild<Activity>) -> Line {
        Line("\(activity.started)  ", .faint) + Line(places.name(of: activity.location).padded(to: 24), .bold)
            + (activity.length.map { Line($0) } ?? Line("now", .well))
    }

    /// A map of the places with the user and the friend.
    ///
    /// - parameter chosen: the key of a place that is shown in reverse.
    func map(_ size: Size, chosen: String? = nil) -> [Line] {
        PlaceMap(
            places.places, own: activities.current?.location, friend: friends.status?.location, chosen: chosen,
            size: size
        ).lines
    }
}
