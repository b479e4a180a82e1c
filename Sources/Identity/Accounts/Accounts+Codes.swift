import HearthBytes
import HearthJSONWebTokens

/// A code that is to be sent to somebody.
package struct IssuedCode: Sendable {
    /// 54 characters of Base64url.
    package let text: String
    package let code: OneTimeCode
}

/// The outcome of a request for a code.
package enum CodeRequest: Sendable {
    case issued(IssuedCode)
    /// Nothing is to be sent, which the client must not learn. With the address that it would have been told.
    case hidden(email: String?)

    package var issued: IssuedCode? { if case .issued(let code) = self { code } else { nil } }

    package var email: String? {
        switch self {
        case .issued(let issued): issued.code.email
        case .hidden(let email): email
        }
    }
}

extension OneTimeCode {
    static func hash(_ text: String) -> [UInt8] { Cryptography.sha256(Array(text.utf8)) }

    /// How long it may be used, in milliseconds.
    static func life(of kind: Kind) -> Int64 {
        let hour: Int64 = 3_600_000
        return switch kind {
        case .resetPassword: hour
        case .emailSignIn: 6 * hour
        case .verifyEmail, .verifyAndChangeEmail: 3 * 24 * hour
        case .recoverEmail: 30 * 24 * hour
        }
    }

    /// For how long after that a user of the code is told that it is too late.
    static let memory: Int64 = 7 * 24 * 3_600_000
}

extension AccountFile {
    /// A code that was not used and is not too old.
    func usableCode(
        _ realm: Realm, hash: [UInt8], _ kinds: Set<OneTimeCode.Kind>, now: Int64
    ) throws(AccountFailure) -> OneTimeCode {
        guard let code = try code(realm, hash: hash), kinds.contains(code.kind) else { throw .refused(.invalidCode) }
        guard code.expiresAt > now else { throw .refused(.expiredCode) }
        return code
    }

    /// Makes a code. Those of the same kind that the user has not used are void, and so are links to sign in that were
    /// sent to the same address before it had an account.
    func issue(
        _ kind: OneTimeCode.Kind, to email: String, newEmail: String? = nil, user: String?, now: Int64, in realm: Realm
    ) throws(AccountFailure) -> IssuedCode {
        let text = String(decoding: Base64.url.encode(Cryptography.randomBytes(40)), as: UTF8.self)
        let code = OneTimeCode(
            kind: kind, user: user, email: email, newEmail: newEmail, expiresAt: now + OneTimeCode.life(of: kind))
        try removeCodes(expiredBefore: now - OneTimeCode.memory)
        if let user, kind != .recoverEmail { try removeCodes(realm, kind, of: user) }
        if kind == .emailSignIn { try removeSignInCodes(realm, sentTo: email) }
        try put(code, hash: OneTimeCode.hash(text), in: realm)
        return IssuedCode(text: text, code: code)
    }
}

/// One-time codes (accounts.md 7): made here, sent by others.
extension Accounts {
    /// For whom a code is made.
    package enum CodeSubject: Sendable {
        case idToken([UInt8])
        case email(String)
    }

    /// Makes a code, to be sent to its address.
    ///
    /// - parameter isAdmin: an administrator has no limits, and is told who has no account.
    package func issueCode(
        _ kind: OneTimeCode.Kind, for subject: CodeSubject?, newEmail: String?, in realm: Realm, isAdmin: Bool = false
    ) throws(AccountFailure) -> CodeRequest {
        if kind == .emailSignIn, !options.allowsEmailLinks { throw .refused(.operationNotAllowed) }
        if kind == .verifyAndChangeEmail, newEmail == nil { throw .refused(.missingNewEmail) }
        let newEmail =
            kind != .verifyAndChangeEmail
            ? nil : try newEmail.map { (email) throws(AccountFailure) in try AccountNames.email(email) }
        var token: IDToken?
        var email: String?
        switch subject {
        case .idToken(let text):
            token = try verify(text, in: realm)
            if kind == .verifyAndChangeEmail, let token { try checkRecent(token) }
        case .email(let text): email = try AccountNames.email(text)
        case nil: throw .refused(kind == .verifyAndChangeEmail ? .missingIDToken : .missingEmail)
        }
        if !isAdmin, let name = email ?? token?.userID, !options.isDevelopment {
            try admitAttempt(
                "mail:\(realm.key):\(name)", max: options.mailsPerAccountMax,
                else: kind == .resetPassword ? .resetPasswordExceedLimit : .tooManyAttempts)
        }
        let (now, hides, who, asked) = (now, hidesEmails && !isAdmin, token, email)
        return try thread.run { (file) throws(AccountFailure) in
            var user: User?
            if let who { user = try file.user(realm, of: who) }
            if let asked { user = try file.user(realm, email: asked) }
            if kind == .emailSignIn {
                guard let asked else { throw .refused(.missingEmail) }
                return .issued(try file.issue(kind, to: asked, user: user?.id, now: now, in: realm))
            }
            do throws(AccountFailure) {
                guard let user else { throw .refused(kind == .resetPassword ? .emailNotFound : .userNotFound) }
                guard let email = user.email else { throw .refused(.missingEmail) }
                if user.isDisabled { throw .refused(.userDisabled) }
                if let newEmail, try file.user(realm, email: newEmail) != nil { throw .refused(.emailExists) }
                return .issued(
                    try file.issue(kind, to: email, newEmail: newEmail, user: user.id, now: now, in: realm))
            } catch {
                guard hides, case .refused = error else { throw error }
                // As long as it takes to make one.
                let nobodys = try file.issue(kind, to: asked ?? "", user: nil, now: now, in: realm)
                try file.removeCode(hash: OneTimeCode.hash(nobodys.text))
                // Who has shown a token knows the address, and who has shown an address too.
                return .hidden(email: asked ?? user?.email)
            }
        }
    }

    /// The operation of a code, without using it.
    package func inspectCode(_ text: String?, in realm: Realm) throws(AccountFailure) -> OneTimeCode {
        guard let text else { throw .refused(.missingCode) }
        let now = now
        return try thread.run { (file) throws(AccountFailure) in
            try file.usableCode(
                realm, hash: OneTimeCode.hash(text),
                [.resetPassword, .verifyEmail, .emailSignIn, .verifyAndChangeEmail, .recoverEmail], now: now)
        }
    }

    /// Sets the password of the user who has the code, whose address is thereby verified. All sessions end, and other
    /// ways to sign in are removed (accounts.md 7), since it is not known who added them.
    package func resetPassword(
        _ text: String?, to password: String, in realm: Realm
    ) throws(AccountFailure) -> OneTimeCode {
        guard let text else { throw .refused(.missingCode) }
        guard options.allowsPasswords else { throw .refused(.passwordLoginDisabled) }
        try AccountNames.check(password: password)
        // A code that is of no use shall not cost a hash.
        _ = try inspectCode(text, in: realm)
        let (newHash, hash, now) = (try hash(password), OneTimeCode.hash(text), now)
        let code = try thread.run { (file) throws(AccountFailure) in
            let code = try file.usableCode(realm, hash: hash, [.resetPassword], now: now)
            guard let id = code.user, var user = try file.user(realm, id: id), user.email == code.email else {
                throw .refused(.invalidCode)
            }
            let before = user
            if !before.emailVerified { user.shutOutCreator(now: now) }
            user.emailVerified = true
            user.password = newHash
            user.passwordUpdatedAt = now
            user.links = []
            user.phone = nil
            user.voidTokens(now: now)
            _ = try self.settle(
                user, insteadOf: before, for: before.emailVerified ? .code : .takeover, in: realm, file)
            try file.removeCode(hash: hash)
            return code
        }
        attempts.forget(passwordAttempt(at: code.email, in: realm))
        return code
    }
}
