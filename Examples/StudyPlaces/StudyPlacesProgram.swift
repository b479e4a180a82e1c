import HearthExampleKit
import HearthExampleTerminal
import HearthClient

/// Places to study, and who is where: what the command line can do, and where the screen begins.
let studyPlacesProgram = Program(
    "hearth-study-places", "Places to study: free seats, live; one's own visits; where friends are.",
    commands: [
        .init("sign-in PROVIDER", "signs in with facebook, campus or google; asks for the provider's token") { call in
            let account = try Account(call)
            try await account.signIn(try provider(call), token: try call.askPassword("Token: "))
            try await welcome(account)
        },
        .init("sign-in-demo PROVIDER NAME EMAIL", "signs in as somebody made up, on a server in development") { call in
            let account = try Account(call)
            try await account.signInForDemo(
                try provider(call), name: call.required("NAME"), email: call.required("EMAIL"))
            try await welcome(account)
        },
    ] + Program.sessionCommands + [
        .init("places", "prints the places: free seats, student card, hours") { call in
            let session = try session(call)
            try await session.places.live.load()
            for place in session.places.places {
                let card = place.needsStudentCard ? "card" : ""
                say("\(place.name.padded(to: 22))\(place.freeSeats.padded(to: 12))\(card.padded(to: 6))\(place.hours)")
            }
        },
        .init("watch", "prints the free seats of each place now and whenever they change") { call in
            try await session(call).places.follow { say("\($0.name): \($0.freeSeats)") }
        },
        .init("check-in PLACE", "takes a seat") { call in
            let session = try session(call)
            try await session.places.live.load()
            let place = try call.item(named: "PLACE", of: session.places.places, "place", by: \.name)
            try await session.activities.checkIn(at: place)
            say("You have a seat at \(place.name).")
        },
        .init("check-out", "frees the seat") { call in
            let session = try session(call)
            try await session.activities.live.load()
            try await session.activities.checkOut()
        },
        .init("activities", "prints where you have been, and are") { call in
            let session = try await loaded(call)
            say(numbered: session.activities.activities.map(session.line))
        },
        .init("delete NUMBER", "deletes an activity") { call in
            let session = try await loaded(call)
            try await session.activities.delete(try call.item(of: session.activities.activities, "activity"))
        },
        .init("friend EMAIL", "prints where a friend is, or was today") { call in
            let session = try session(call)
            let status = try await session.friends.find(call.required("EMAIL"))
            try await session.places.live.load()
            say(Line(status.sentence(call.required("EMAIL"), name: session.places.name)))
        },
        .init("map [EMAIL]", "draws the places, you, and a friend") { call in
            let session = try await loaded(call)
            if let email = call["EMAIL"] { try await session.friends.find(email) }
            for line in session.map((columns: 78, rows: 20)) + [PlaceMap.legend] { say(line) }
        },
    ]
) { call, terminal in
    let account = try Account(call)
    async let _ = account.follow()
    terminal.watch(account)
    try await offerToContinue(account, on: terminal)
    while true {
        guard let person = try await signIn(account, on: terminal) else { continue }
        try await showPlaces(Session(account.database, of: person), account, on: terminal)
    }
}

@MainActor
private func provider(_ call: Call) throws -> Provider {
    guard let provider = Provider(rawValue: call.required("PROVIDER")) else {
        throw Problem("the providers are: " + Provider.allCases.map(\.id).joined(separator: ", "))
    }
    return provider
}

@MainActor
private func welcome(_ account: Account) async throws {
    let person = try account.needPerson()
    try await Session(account.database, of: person).prepare()
    say("Welcome, \(person.name).")
}

@MainActor
private func session(_ call: Call) throws -> Session {
    let account = try Account(call)
    return Session(account.database, of: try account.needPerson())
}

/// With places and activities.
@MainActor
private func loaded(_ call: Call) async throws -> Session {
    let session = try session(call)
    try await session.places.live.load()
    try await session.activities.live.load()
    return session
}
