import HearthJSONWebTokens
import HearthClientSession

/// Why a request of an administrator failed.
public struct AdminError: Error, Hashable, Sendable {
    /// The kind of failure, for programs.
    public let code: AdminErrorCode
    /// The reason, for people.
    public let message: String
    /// The server's word, such as `EMAIL_EXISTS`; empty if the server did not give one.
    public let word: String

    package init(_ code: AdminErrorCode, _ message: String, word: String = "") {
        (self.code, self.message, self.word) = (code, message, word)
    }
}

/// The kinds of failure of ``AdminError``.
public enum AdminErrorCode: Hashable, Sendable {
    /// The waiting task was cancelled. The request may have taken effect.
    case cancelled
    /// The custom claims are longer than 1,000 characters.
    case claimsTooLarge
    /// Another user has this email address.
    case emailAlreadyExists
    /// An argument is invalid; the message names it.
    case invalidArgument
    /// The custom claims are not a JSON object, or use a reserved name.
    case invalidClaims
    /// The text is not an email address.
    case invalidEmail
    /// The file is not an administrator's key.
    case invalidKey
    /// The text is not a telephone number such as +15555550100.
    case invalidPhoneNumber
    /// The rules or settings have a mistake; the message begins with its line and column.
    case invalidRules
    /// The token is malformed, not signed by this server, or of another project.
    case invalidToken
    /// The text is not the URL of a server, or the file of authorities is unusable.
    case invalidURL
    /// The address does not accept administrators, who have a separate listener.
    case notForAdministrators
    /// Another user has this telephone number.
    case phoneNumberAlreadyExists
    /// The user's sessions were ended after the token was issued.
    case sessionEnded
    case tenantNotFound
    /// The token has expired.
    case tokenExpired
    /// Another user has this id.
    case uidAlreadyExists
    /// The server does not accept the credential, or requires one.
    case unauthenticated
    /// The server is unreachable, or cannot answer at the moment.
    case unavailable
    case userDisabled
    case userNotFound
    case weakPassword
    /// Another reason; the message has the server's text.
    case other

    /// By the server's word (accounts.md 5), with a sentence for people.
    fileprivate static let ofWords: [String: (AdminErrorCode, String)] = [
        "CLAIMS_TOO_LARGE": (.claimsTooLarge, "the custom claims are longer than 1,000 characters"),
        "DUPLICATE_LOCAL_ID": (.uidAlreadyExists, "another user has this id"),
        "EMAIL_EXISTS": (.emailAlreadyExists, "another user has this email address"),
        "FORBIDDEN_CLAIM": (.invalidClaims, "the custom claims use a reserved name"),
        "INVALID_ARGUMENT": (.invalidArgument, "an argument is invalid"),
        "INVALID_CLAIMS": (.invalidClaims, "the custom claims are not a JSON object"),
        "INVALID_EMAIL": (.invalidEmail, "the email address is invalid"),
        "INVALID_ID_TOKEN": (.invalidToken, "the ID token is invalid"),
        "INVALID_PHONE_NUMBER": (.invalidPhoneNumber, "the telephone number is invalid"),
        "PHONE_NUMBER_EXISTS": (.phoneNumberAlreadyExists, "another user has this telephone number"),
        "TENANT_NOT_FOUND": (.tenantNotFound, "there is no such tenant"),
        "TOKEN_EXPIRED": (.sessionEnded, "the session of this token has ended"),
        "USER_DISABLED": (.userDisabled, "the user is disabled"),
        "USER_NOT_FOUND": (.userNotFound, "there is no such user"),
        "WEAK_PASSWORD": (.weakPassword, "the password is too weak"),
    ]
}

extension AdminError {
    /// A refused request about accounts.
    ///
    /// - parameter text: one of the server's words, perhaps with details after ` : ` (accounts.md 5), or a sentence.
    init(refusal text: String, status: Int) {
        let word = String(text.prefix { $0 == "_" || $0.isASCII && $0.isUppercase })
        let isWord = word.utf8.count > 3 && (word == text || text.dropFirst(word.count).hasPrefix(" : "))
        guard isWord else {
            let code: AdminErrorCode =
                switch status {
                case 400: .invalidArgument
                case 401, 403: .unauthenticated
                case 404: .notForAdministrators
                case 500...: .unavailable
                default: .other
                }
            self.init(code, text)
            return
        }
        let detail = String(text.dropFirst(word.count + 3))
        guard let (code, sentence) = AdminErrorCode.ofWords[word] else {
            self.init(.other, detail.isEmpty ? "the server refused the request" : detail, word: word)
            return
        }
        self.init(code, detail.isEmpty ? sentence : "\(sentence): \(detail)", word: word)
    }

    /// - parameter url: the server of the request.
    init(_ error: ConnectionError, _ url: DatabaseURL) {
        switch error {
        case .cancelled: self.init(.cancelled, "the task was cancelled")
        case .refused("HTTP 401", let text), .refused("HTTP 403", let text):
            self.init(.unauthenticated, "\(url) does not accept the credential: \(text)")
        case .refused(let status, let text):
            // An error of `/token`, with the reason why a key gets no token.
            let isKey = text.contains("invalid_grant") || text.contains("invalid_client")
            self.init(isKey ? .unauthenticated : .other, "\(status): \(text)")
        case .disconnected(.unreachable(let text)):
            self.init(.unavailable, "cannot reach \(url): \(text)\(ConnectionHint(error, url).text)")
        case .rateExceeded(_, let text): self.init(.other, text)
        case .disconnected, .protocolError, .slowReader: self.init(.unavailable, "\(url): \(error)")
        }
    }

    init(_ error: TokenError) {
        switch error {
        case .expired: self.init(.tokenExpired, "\(error)")
        case .keysUnavailable: self.init(.unavailable, "\(error)")
        default: self.init(.invalidToken, "\(error)")
        }
    }
}

extension AdminError: CustomStringConvertible {
    /// The message, and the server's word in parentheses.
    public var description: String { word.isEmpty ? message : "\(message) (\(word))" }
}
