import HearthExampleKit
import HearthExampleTerminal
import HearthClient

@testable import HearthStudyPlaces

extension ExampleServer {
    /// Somebody who has come with a token of a provider; the same one each time.
    @MainActor
    func student(_ name: String, at time: Int = Students.morning) async throws -> Session {
        let account = try Account(url: url)
        try await account.signInForDemo(.campus, name: name, email: "\(name.lowercased())@example.com")
        return Session(account.database, of: try account.needPerson()) { time }
    }
}

enum Students {
    /// A time on 2026-03-01, in milliseconds since 1970.
    static let morning = 1_772_355_600_000
    static let minute = 60_000
}

extension Session {
    /// A place with its present data.
    @MainActor
    func known(_ id: String) async throws -> DatabaseChild<Place>? {
        try await places.live.load()
        return places.place(id)
    }
}
