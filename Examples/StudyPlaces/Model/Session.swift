import HearthExampleKit
import HearthExampleTerminal
import HearthClient

/// Says what time it is, in milliseconds since 1970.
typealias Clock = @MainActor () async throws -> Int

/// What a user who is signed in works with.
@MainActor
struct Session {
    let person: Person
    let places: Places
    let activities: Activities
    let friends: Friends

    init(_ database: Database, of person: Person, now: Clock? = nil) {
        let now = now ?? { Int(database.serverTime) }
        self.person = person
        places = Places(database)
        activities = Activities(database, of: person, now: now)
        friends = Friends(database, now: now)
    }

    /// Makes the user known to friends, and sees to it that there are places.
    func prepare() async throws {
        try await places.seed()
        try await friends.enter(person)
    }
}

extension Account {
    /// Signs in with a token of a provider.
    ///
    /// - throws: ``FieldProblems`` for `token`; `AuthError`.
    func signIn(_ provider: Provider, token: String) async throws {
        let token = token.trimmed
        try FieldProblems.check(["token": token.isEmpty ? "The token is missing." : nil])
        try await signIn(with: provider.credential(token: token))
    }

    /// Signs in with an identity that is made up.
    ///
    /// - throws: ``FieldProblems`` for `name` and `email`; `AuthError`.
    func signInForDemo(_ provider: Provider, name: String, email: String) async throws {
        let (name, email) = (name.trimmed, email.trimmed.lowercased())
        try FieldProblems.check([
            "name": name.isEmpty ? "Say what you are called." : nil,
            "email": email.contains("@") ? nil : "This is not an email address.",
        ])
        try await signIn(with: provider.demoCredential(name: name, email: email))
    }
}
