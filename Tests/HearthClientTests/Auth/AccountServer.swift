import HearthServerSupport
import HearthClient
import HearthServer
import HearthIdentity
import Testing
import HearthAccountEndpoints
import HearthSystem

/// A server with accounts and owner-only rules, and its operator. Ends with the test.
final class AccountServer: Sendable {
    static let rules = #"{"rules": {"users": {"$uid": {".read": "$uid === auth.uid", ".write": "$uid === auth.uid"}}}}"#

    let database: TestDatabase

    init(isDevelopment: Bool = true, tls: ServerConfiguration.TLSFiles? = nil) throws {
        database = try TestDatabase { configuration, folder in
            configuration.isDevelopment = isDevelopment
            configuration.rulesFile = try folder.write(Self.rules, as: "rules.json")
            configuration.tls = tls
            var identity = IdentityConfiguration()
            identity.options.protectsEmails = !isDevelopment
            identity.options.passwordCost = .init(logarithm: 2, blockSize: 1, rounds: 1)
            configuration.identity = identity
        }
    }

    private var address: String { "\(database.server.address)" }

    func auth(_ configure: (inout AuthOptions) -> Void = { _ in }) throws -> Auth {
        var options = AuthOptions.patient
        configure(&options)
        return try Auth(url: database.urlText, options: options)
    }

    /// A client of the signed-in user.
    func client(_ auth: Auth) throws -> HearthClient.Database { try database.client { $0.auth = auth } }

    // MARK: The operator (development mode)

    /// Changes a user's account: `"disableUser":true`, …
    func change(_ uid: String, _ members: String) throws {
        try operate("accounts:update", #"{"localId":"\#(uid)",\#(members)}"#)
    }

    func delete(_ uid: String) throws { try operate("accounts:delete", #"{"localId":"\#(uid)"}"#) }

    private func operate(_ operation: String, _ body: String) throws {
        let answer = try http(
            "POST", "/identitytoolkit.googleapis.com/v1/projects/hearth/\(operation)",
            ["Authorization: Bearer owner", "Content-Type: application/json"], body, at: address)
        try #require(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
    }

    /// The code of the mail that was sent last.
    func lastCode() throws -> String {
        let answer = try httpGet("/emulator/v1/projects/hearth/oobCodes", from: address)
        let mark = #""oobCode":""#
        var last: Substring?
        var rest = answer[...]
        while let place = rest.firstRange(of: mark) {
            rest = rest[place.upperBound...]
            last = rest.prefix { $0 != "\"" }
        }
        return String(try #require(last, "\(answer)"))
    }
}

/// What rules say about the place of a user.
enum Access: Equatable {
    case allowed
    case denied
}

extension HearthClient.Database {
    /// Whether the user's own place can be written and read now.
    func access(_ uid: String) async throws -> Access {
        let place = reference(withPath: "users/\(uid)")
        do {
            try await place.setValue(1)
            _ = try await place.getData()
            return .allowed
        } catch DatabaseError.permissionDenied {
            return .denied
        }
    }
}

/// Waits for the next second of the clock: tokens that are made void are those of earlier seconds.
func waitForNextSecond() async throws {
    try await Task.sleep(for: .milliseconds(1000 - WallClock.milliseconds % 1000))
}

/// Waits until a user is signed in, or until none is.
func wait(for auth: Auth, signedIn: Bool) async {
    for await user in auth.stateChanges where (user != nil) == signedIn { return }
}
