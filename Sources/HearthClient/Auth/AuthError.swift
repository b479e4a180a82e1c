import HearthClientSession

/// Why a sign-in or another account operation failed.
public struct AuthError: Error, Hashable, Sendable {
    /// The kind of error, for programs.
    public let code: AuthErrorCode
    /// A description for people: one sentence.
    public let message: String
    /// The server's error code, such as `EMAIL_EXISTS`; empty if there was none.
    let word: String

    init(_ code: AuthErrorCode, _ message: String = "", word: String = "") {
        self.code = code
        self.message = message.isEmpty ? code.message : message
        self.word = word
    }

    /// - parameter text: a code of the server, optionally with details after ` : ` (accounts.md 5).
    init(server text: String) {
        let end = text.utf8.firstIndex { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ":") } ?? text.endIndex
        let word = String(text[..<end])
        let isWord = !word.isEmpty && word.utf8.allSatisfy { $0 == UInt8(ascii: "_") || (65...90).contains($0) }
        guard isWord, let code = AuthErrorCode.ofWords[word] else {
            self.init(.other(text), word: isWord ? word : "")
            return
        }
        let detail = String(text[end...].drop { $0 == " " || $0 == ":" })
        let says = [.weakPassword, .operationNotAllowed, .invalidCustomToken, .invalidCredential].contains(code)
        self.init(code, says && !detail.isEmpty ? "\(code.message): \(detail)" : "", word: word)
    }

    init(connection error: ConnectionError, to url: DatabaseURL) {
        switch error {
        case .cancelled: self.init(.cancelled)
        case .disconnected(.closed): self.init(.closed)
        case .disconnected, .slowReader:
            let hint = ConnectionHint(error, url, authorities: "AuthOptions.certificateAuthorityFile")
            self.init(.networkError, "The server \(url) cannot be reached: \(error.description)\(hint.text)")
        case .refused, .rateExceeded, .protocolError: self.init(.internalError, error.description)
        }
    }

    /// Whether the error ends a session. No other error does.
    var endsSession: Bool { Self.endWords.contains(word) }

    /// Whether a new ID token may be accepted where this one was rejected.
    var wantsNewToken: Bool { word == "TOKEN_EXPIRED" || word == "INVALID_ID_TOKEN" }

    private static let endWords: Set = [
        "USER_DISABLED", "USER_NOT_FOUND", "TOKEN_EXPIRED", "INVALID_ID_TOKEN", "INVALID_REFRESH_TOKEN",
    ]
}

extension AuthError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}

/// Error codes, with the names of Firebase's SDKs.
public enum AuthErrorCode: Hashable, Sendable {
    /// The provider's address belongs to an account with another way to sign in.
    case accountExistsWithDifferentCredential
    /// The operator does not allow it; for example, anonymous sign-in.
    case adminRestrictedOperation
    /// The waiting task was cancelled. The request may or may not have taken effect.
    case cancelled
    /// The ``Auth`` was closed or no longer exists.
    case closed
    /// The account of the provider belongs to another user.
    case credentialAlreadyInUse
    /// The custom token belongs to another project.
    case customTokenMismatch
    case emailAlreadyInUse
    /// The code from the mail has expired.
    case expiredActionCode
    /// The server's answer is invalid.
    case internalError
    /// The code from the mail was already used, was replaced by a newer one, or is wrong.
    case invalidActionCode
    /// The server does not accept the app's key.
    case invalidAPIKey
    case invalidContinueURI
    /// The address or password is wrong (in production the server does not reveal which), or a provider's token is.
    case invalidCredential
    case invalidCustomToken
    case invalidEmail
    /// The text is not the URL of a server, or the file of authorities is unusable.
    case invalidURL
    /// The session does not belong to this server.
    case invalidUserToken
    case missingEmail
    case missingOrInvalidNonce
    case missingPassword
    /// The server is unreachable, or cannot serve accounts at the moment.
    case networkError
    /// The user has no such provider.
    case noSuchProvider
    /// No user is signed in.
    case noUser
    /// There is no shared ``Auth`` yet.
    case notConfigured
    /// The operator has disabled this sign-in method, or an address must be verified first.
    case operationNotAllowed
    /// The user already has an account of this provider.
    case providerAlreadyLinked
    /// The operation needs a recent sign-in: sign in again or reauthenticate, then retry.
    case requiresRecentLogin
    /// The session file cannot be used.
    case sessionFile
    case tooManyRequests
    /// The operator has not allowed the host of the continue URL.
    case unauthorizedContinueURI
    case userDisabled
    /// The credential belongs to another user.
    case userMismatch
    case userNotFound
    /// The session was ended: by a password change elsewhere, or by an administrator.
    case userTokenExpired
    case weakPassword
    case wrongPassword
    /// Any other error, in the server's words.
    case other(String)
}

extension AuthErrorCode {
    /// By the server's error code (accounts.md 5).
    static let ofWords: [String: AuthErrorCode] = [
        "ADMIN_ONLY_OPERATION": .adminRestrictedOperation,
        "CREDENTIAL_MISMATCH": .customTokenMismatch,
        "CREDENTIAL_TOO_OLD_LOGIN_AGAIN": .requiresRecentLogin,
        "EMAIL_EXISTS": .emailAlreadyInUse,
        "EMAIL_NOT_FOUND": .userNotFound,
        "EXPIRED_OOB_CODE": .expiredActionCode,
        "FEDERATED_USER_ID_ALREADY_LINKED": .credentialAlreadyInUse,
        "INVALID_CONTINUE_URI": .invalidContinueURI,
        "INVALID_CREDENTIAL_OR_PROVIDER_ID": .invalidCredential,
        "INVALID_CUSTOM_TOKEN": .invalidCustomToken,
        "INVALID_EMAIL": .invalidEmail,
        "INVALID_IDENTIFIER": .invalidEmail,
        "INVALID_IDP_RESPONSE": .invalidCredential,
        "INVALID_ID_TOKEN": .invalidUserToken,
        "INVALID_LOGIN_CREDENTIALS": .invalidCredential,
        "INVALID_OOB_CODE": .invalidActionCode,
        "INVALID_PASSWORD": .wrongPassword,
        "INVALID_REFRESH_TOKEN": .invalidUserToken,
        "MISSING_CUSTOM_TOKEN": .invalidCustomToken,
        "MISSING_EMAIL": .missingEmail,
        "MISSING_NEW_EMAIL": .missingEmail,
        "MISSING_OOB_CODE": .invalidActionCode,
        "MISSING_OR_INVALID_NONCE": .missingOrInvalidNonce,
        "MISSING_PASSWORD": .missingPassword,
        "OPERATION_NOT_ALLOWED": .operationNotAllowed,
        "PASSWORD_LOGIN_DISABLED": .operationNotAllowed,
        "RESET_PASSWORD_EXCEED_LIMIT": .tooManyRequests,
        "TOKEN_EXPIRED": .userTokenExpired,
        "TOO_MANY_ATTEMPTS_TRY_LATER": .tooManyRequests,
        "UNAUTHORIZED_DOMAIN": .unauthorizedContinueURI,
        "USER_DISABLED": .userDisabled,
        "USER_NOT_FOUND": .userNotFound,
        "WEAK_PASSWORD": .weakPassword,
    ]

    var message: String {
        switch self {
        case .accountExistsWithDifferentCredential:
            "There is an account with this email address and another way to sign in"
        case .adminRestrictedOperation: "Only an administrator may do this"
        case .cancelled: "Cancelled"
        case .closed: "The sign-in was closed"
        case .credentialAlreadyInUse: "This account of the provider belongs to another user"
        case .customTokenMismatch: "The custom token is of another project"
        case .emailAlreadyInUse: "There is an account with this email address already"
        case .expiredActionCode: "This link has expired. Request a new one."
        case .internalError: "The server said something that makes no sense"
        case .invalidActionCode: "This link was used already, or is not valid"
        case .invalidAPIKey: "The server does not take the key of this app"
        case .invalidContinueURI: "The address to continue at is not valid"
        case .invalidCredential: "The email address, the password or the token is wrong"
        case .invalidCustomToken: "The custom token is not valid"
        case .invalidEmail: "This is not an email address"
        case .invalidURL: "This is not a URL of a server"
        case .invalidUserToken: "The session is not valid: sign in again"
        case .missingEmail: "The email address is missing"
        case .missingOrInvalidNonce: "The nonce does not match the token"
        case .missingPassword: "The password is missing"
        case .networkError: "The server cannot be reached"
        case .noSuchProvider: "The user has no account of this provider"
        case .noUser: "Nobody is signed in"
        case .notConfigured: "Auth.auth(url:) has not been called yet"
        case .operationNotAllowed: "The server does not allow this"
        case .providerAlreadyLinked: "The user has an account of this provider already"
        case .requiresRecentLogin: "Sign in again to do this"
        case .sessionFile: "The file with the session cannot be used"
        case .tooManyRequests: "Too many attempts: try again later"
        case .unauthorizedContinueURI: "The address to continue at is not allowed by the server"
        case .userDisabled: "The account was disabled by an administrator"
        case .userMismatch: "This is the credential of another user"
        case .userNotFound: "There is no such user"
        case .userTokenExpired: "The session was ended: sign in again"
        case .weakPassword: "The password is too weak"
        case .wrongPassword: "The password is wrong"
        case .other(let text): text
        }
    }
}
