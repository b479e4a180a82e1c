import HearthAdmin
import HearthClient
import HearthHTTP

/// Why a request failed.
struct APIFailure: Error, Equatable {
    let status: Int
    /// A sentence for people.
    let message: String
    /// Mistakes in fields of the body, by their names.
    var fields: [String: String] = [:]

    init(_ status: Int, _ message: String) { (self.status, self.message) = (status, message) }

    /// For a body with something wrong in it.
    init(fields: [String: String]) {
        status = 400
        message = fields.sorted { $0.key < $1.key }.map(\.value).joined(separator: " ")
        self.fields = fields
    }

    static let notLoggedIn = APIFailure(401, "The token is not valid, or not any more: log in again.")
    static let noSuchThread = APIFailure(404, "There is no such thread.")
    static let noSuchMessage = APIFailure(404, "There is no such message.")
}

extension APIFailure {
    /// What the server says of a request.
    init(_ error: HTTPError) { self.init(error.status, error.message) }

    /// JSON with `status`, `error` and, if something is wrong with them, `fields`.
    var response: Response {
        var body: [String: DatabaseValue] = ["status": "error", "error": .string(message)]
        if !fields.isEmpty { body["fields"] = .object(fields.mapValues { .string($0) }) }
        return Response(status, api: body)
    }

    /// The answer if a token could not be verified.
    init(_ error: AdminError) {
        self =
            error.code == .unavailable || error.code == .cancelled
            ? APIFailure(503, "The database cannot be reached.") : .notLoggedIn
    }

    /// The answer if an operation of the database failed.
    init(_ error: DatabaseError) {
        switch error {
        case .permissionDenied: self.init(403, "You may not do this.")
        case .rateExceeded(_, let text): self.init(429, text + ".")
        case .invalidValue(let text), .invalidPath(let text): self.init(400, text)
        case .disconnected, .connectionFailed, .timedOut, .cancelled, .writeCancelled:
            self.init(
                503, "The database cannot be reached. Whether something was changed is not known.")
        case .refused(let status, let message):
            self.init(503, "The database cannot do this at the moment: \(status) \(message)")
        case .invalidURL, .invalidQuery, .typeMismatch, .overridden, .tooManyRetries, .slowReader, .cache, .cacheInUse,
            .cacheDamaged:
            self.init(500, "\(error)")
        }
    }

    /// The answer if a sign-up or sign-in failed.
    init(_ error: AuthError) {
        switch error.code {
        case .emailAlreadyInUse:
            self.init(409, error.message + ".")
            fields = ["email": message]
        case .invalidEmail, .missingEmail: self.init(fields: ["email": error.message + "."])
        case .weakPassword, .missingPassword: self.init(fields: ["password": error.message + "."])
        case .wrongPassword, .userNotFound, .invalidCredential:
            self.init(401, "The email address or the password is wrong.")
        case .userDisabled, .operationNotAllowed: self.init(403, error.message + ".")
        case .tooManyRequests: self.init(429, error.message + ".")
        case .networkError: self.init(503, "Accounts cannot be reached at the moment.")
        default: self.init(500, error.message + ".")
        }
    }
}
