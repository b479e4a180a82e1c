import HearthHTTPCodec

/// The target of a link in a mail, after the account operation.
public struct ActionCodeSettings: Hashable, Sendable {
    /// The URL that the link's page continues to. The operator must have allowed its host.
    public var url: String?
    /// Whether the app opens the link itself.
    public var handleCodeInApp = false

    /// Settings with the given values.
    public init(url: String? = nil, handleCodeInApp: Bool = false) {
        self.url = url
        self.handleCodeInApp = handleCodeInApp
    }
}

/// The operation of a code from a mail.
public enum ActionCodeOperation: Hashable, Sendable {
    /// Sets a new password.
    case passwordReset
    /// Proves that the address is the user's.
    case verifyEmail
    /// Restores a former address.
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

/// The effect of a code from a mail.
public struct ActionCodeInfo: Hashable, Sendable {
    /// The operation.
    public let operation: ActionCodeOperation
    /// The account's address once the code is applied.
    public let email: String?
    /// The account's previous address, if it changes.
    public let previousEmail: String?
}

/// The parts of a link from a mail.
public struct ActionCodeURL: Hashable, Sendable {
    /// The code to apply.
    public let code: String
    /// The link's operation: `resetPassword`, `verifyEmail`, `signIn`, …
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
