import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import Observation

/// Who uses the program: logging in and out, and asking the service in the user's name. It is kept in a file, so that
/// the next run need not ask.
@MainActor
@Observable
final class Session {
    struct Member: Hashable {
        let creator: Creator
        let email: String
        fileprivate let token: String

        fileprivate init(_ answer: DatabaseValue) throws(Problem) {
            guard let creator = try? answer.decoded(as: Creator.self) else {
                throw Problem("The service returned no user.")
            }
            self.creator = creator
            email = try answer.need("user_email")
            token = try answer.need("token")
        }
    }

    /// Who is logged in.
    private(set) var member: Member?
    private let service: Service
    private let file: SecretFile

    /// - parameter server: the service's URL.
    /// - parameter file: where to stay logged in between runs.
    /// - parameter patience: for how long the service may be silent.
    init(server: String, file: String, patience: Duration = .seconds(60)) throws {
        service = try Service(url: server, patience: patience)
        self.file = SecretFile(path: file)
        // Of another service it is of no use here.
        guard let bytes = try self.file.read(), let saved = try? DatabaseValue(json: bytes),
            saved["service"].string == service.url
        else { return }
        member = try? Member(saved)
    }

    convenience init(_ call: Call) throws { try self.init(server: call.server, file: call.sessionFile) }

    // MARK: Logging in

    /// - throws: `FieldProblems` for `email` and `password`.
    func logIn(email: String, password: String) async throws {
        do {
            try take(try await service.ask("/api/login", ["email": email, "password": password]))
        } catch let error as ServiceError where error.isLoggedOut {
            throw FieldProblems(["password": error.description])
        }
    }

    /// - throws: `FieldProblems` for `fname`, `lname`, `email`, `password` and `confirmation`.
    func signUp(
        firstName: String, lastName: String, email: String, password: String, confirmation: String
    ) async throws {
        try FieldProblems.check([
            "confirmation": password == confirmation ? nil : "This is not the same password."
        ])
        let fields = ["fname": firstName, "lname": lastName, "email": email, "password": password]
        try take(try await service.ask("/api/signup", fields))
    }

    private func take(_ answer: DatabaseValue) throws {
        let new = try Member(answer)
        var members = answer.object ?? [:]
        members["service"] = .string(service.url)
        try file.replace(with: Array(DatabaseValue.object(members).description.utf8))
        member = new
    }

    func logOut() throws {
        try file.remove()
        member = nil
    }

    // MARK: Asking

    /// Asks in the name of the logged-in user. A user whose session has ended is logged out.
    func ask(_ path: String, _ fields: [String: String]? = nil) async throws -> DatabaseValue {
        guard let member else { throw Problem("Nobody is logged in.") }
        do {
            return try await service.ask(path, fields, token: member.token)
        } catch let error as ServiceError where error.isLoggedOut {
            // Somebody else may have logged in meanwhile.
            if self.member == member { try logOut() }
            throw error
        }
    }
}
