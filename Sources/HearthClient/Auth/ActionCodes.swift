import HearthHTTPCodec

/// What a link in a mail is to do after the account's part.
public struct ActionCodeSettings: Hashable, Sendable {
    /// Where the page behind the link leads on. Its host must be among those that the operator has named.
    public var url: String?
    /// Whether the link is to be opened by the app.
    public var handleCodeInApp = false

    /// Settings of one's own.
    public init(url: String? = nil, handleCodeInApp: Bool = false) {
        self.url = url
        self.handleCodeInApp = handleCodeInApp
    }
}

/// What a code of a mail is for.
public enum ActionCodeOperation: Hashable, Sendable {
    /// Sets a new password.
    case passwordReset
    /// Proves that the address is the user's.
    case verifyEmail
    /// Brings a former address back.
    case recoverEmail
    case emailSignIn
    case verifyAndChangeEmail
    case unknown

    /// By the names of accounts.md 7.
    init(_ name: String) {
        switch name {
        case "PASSWORD_RESET": self = .passwordReset
        case "VERIFY_EMAIL": self = .verifyEmail
        case "RECOVER_EMAIL": self = .recoverEmail
        case "EMAIL_SIGNIN": self = .emailSignIn
        case "VERIFY_AND_CHANGE_EMAIL": self = .verifyAndChangeEmail
        default: self = .unknown
        }
    }
}

/// What a code of a mail would do.
public struct ActionCodeInfo: Hashable, Sendable {
    /// What it is for.
    public let operation: ActionCodeOperation
    /// The account's address once the code is applied.
    public let email: String?
    /// Its address before, if that changes.
    public let previousEmail: String?
}

/// A link of a mail, taken apart.
public struct ActionCodeURL: Hashable, Sendable {
    /// The code to be applied.
    public let code: String
    /// What the link is for: `resetPassword`, `verifyEmail`, `signIn`, …
    public let mode: String

    /// Nil if the text is not such a link.
    public init?(_ link: String) {
        guard let mark = link.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        let query = QueryString(Array(link.utf8[mark...].dropFirst().prefix { $0 != UInt8(ascii: "#") })[...])
        guard let code = query.first("oobCode"), let mode = query.first("mode") else { return nil }
        self.code = String(decoding: code, as: UTF8.self)
        self.mode = String(decoding: mode, as: UTF8.self)
    }
}
