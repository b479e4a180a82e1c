import HTTPCodec
import HearthAdmin
import HearthClient

/// Why a request does not get what it asks for.
struct APIFailure: Error, Equatable {
    let status: HTTPStatus
    /// A sentence for people.
    let message: String
    /// What is wrong with fields of the body, by their names.
    var fields: [String: String] = [:]
    /// What the path takes instead, if the method was wrong.
    var allowed: HTTPMethod?

    init(_ status: HTTPStatus, _ message: String, allowed: HTTPMethod? = nil) {
        (self.status, self.message, self.allowed) = (status, message, allowed)
    }

    /// For a body with something wrong in it.
    init(fields: [String: String]) {
        status = .badRequest
        message = fields.sorted { $0.key < $1.key }.map(\.value).joined(separator: " ")
        self.fields = fields
    }

    static let notLoggedIn = APIFailure(.unauthorized, "The token is not valid, or not any more: log in again.")
    static let noSuchThread = APIFailure(.notFound, "There is no such thread.")
    static let noSuchMessage = APIFailure(.notFound, "There is no such message.")
}

extension APIFailure {
    /// What it means for a request that its token could not be verified.
    init(_ error: AdminError) {
        self =
            error.code == .unavailable || error.code == .cancelled
            ? APIFailure(.serviceUnavailable, "The database cannot be reached.") : .notLoggedIn
    }

    /// What it means for a request that the database did not do something.
    init(_ error: DatabaseError) {
        switch error {
        case .permissionDenied: self.init(.forbidden, "You may not do this.")
        case .rateExceeded(_, let text): self.init(HTTPStatus(429), text + ".")
        case .invalidValue(let text), .invalidPath(let text): self.init(.badRequest, text)
        case .disconnected, .connectionFailed, .timedOut, .cancelled, .writeCancelled:
            self.init(
                .serviceUnavailable, "The database cannot be reached. Whether something was changed is not known.")
        case .refused(let status, let message):
            self.init(.serviceUnavailable, "The database cannot do this at the moment: \(status) \(message)")
        case .invalidURL, .invalidQuery, .typeMismatch, .overridden, .tooManyRetries, .slowReader, .cache:
            self.init(.internalServerError, "\(error)")
        }
    }

    /// What it means for a request that nobody could be signed up or in.
    init(_ error: AuthError) {
        switch error.code {
        case .emailAlreadyInUse:
            self.init(HTTPStatus(409), error.message + ".")
            fields = ["email": message]
        case .invalidEmail, .missingEmail: self.init(fields: ["email": error.message + "."])
        case .weakPassword, .missingPassword: self.init(fields: ["password": error.message + "."])
        case .wrongPassword, .userNotFound, .invalidCredential:
            self.init(.unauthorized, "The email address or the password is wrong.")
        case .userDisabled, .operationNotAllowed: self.init(.forbidden, error.message + ".")
        case .tooManyRequests: self.init(HTTPStatus(429), error.message + ".")
        case .networkError: self.init(.serviceUnavailable, "Accounts cannot be reached at the moment.")
        default: self.init(.internalServerError, error.message + ".")
        }
    }
}
