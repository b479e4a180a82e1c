package import HearthIdentity
import HearthJSONTree
import HearthJSONWebTokens
import HearthRealtimeDatabase
import HearthSecurityRules
import Synchronization
import HearthSystem

/// Finds out whose a credential is.
package struct Authenticator: Sendable {
    package typealias Outcome = Result<Authentication, CredentialError>

    package let verifier: TokenVerifier
    /// Every bearer token makes an administrator, as with an emulator (rest.md 7).
    let isDevelopment: Bool
    let project: String
    /// Nil where accounts are not served.
    let accounts: Accounts?

    package init(verifier: TokenVerifier, isDevelopment: Bool, project: String, accounts: Accounts?) {
        self.verifier = verifier
        self.isDevelopment = isDevelopment
        self.project = project
        self.accounts = accounts
    }

    /// Answers at once, or, where keys have to be fetched or an account has to be asked about, nil, and calls `body`
    /// later, on another thread.
    package func authenticate(_ credential: Credential, later body: @escaping @Sendable (Outcome) -> Void) -> Outcome? {
        if isDevelopment, case .administrator = credential.token {
            return outcome(.success(.administrator(expiresAt: nil)), credential)
        }
        // The verifier may answer before it returns, or later, perhaps at this very moment.
        let box = Box()
        let arrive: @Sendable (Outcome) -> Void = { outcome in
            let isLate = box.meeting.withLock { meeting in
                if case .left = meeting { return true }
                meeting = .arrived(outcome)
                return false
            }
            if isLate { body(outcome) }
        }
        verifier.verify(credential.token.text, now: WallClock.milliseconds / 1000) { result in
            let outcome = outcome(result, credential)
            // Users of test tools have no account.
            guard !isDevelopment, let accounts, case .success(let known) = outcome, let account = known.account else {
                return arrive(outcome)
            }
            accounts.checkSession(
                account.realm, user: account.user, issuedAt: account.issuedAt, awaitsNewUsers: true
            ) { state in
                arrive(Self.outcome(of: state).map { known })
            }
        }
        return box.meeting.withLock { meeting in
            if case .arrived(let outcome) = meeting { return outcome }
            meeting = .left
            return nil
        }
    }

    private enum Meeting {
        case expected
        case arrived(Outcome)
        /// The caller no longer waits.
        case left
    }

    private final class Box: Sendable {
        let meeting = Mutex<Meeting>(.expected)
    }

    private static func outcome(of state: SessionState) -> Result<Void, CredentialError> {
        switch state {
        case .valid: .success(())
        case .noUser: .failure(CredentialError(kind: .invalid, text: "the user's account is gone"))
        case .disabled: .failure(CredentialError(kind: .invalid, text: "the user's account is disabled"))
        case .revoked: .failure(CredentialError(kind: .expired, text: "the user's tokens were revoked"))
        case .unknown: .failure(CredentialError(kind: .unavailable, text: "the accounts cannot be asked"))
        }
    }

    private func outcome(_ result: Result<Caller, TokenError>, _ credential: Credential) -> Outcome {
        Result { () throws(CredentialError) in
            let caller: Caller
            switch result {
            case .success(let verified): caller = verified
            case .failure(.expired): throw CredentialError(kind: .expired, text: "Auth token is expired.")
            case .failure(.keysUnavailable):
                throw CredentialError(kind: .unavailable, text: "the keys cannot be fetched")
            case .failure(let error): throw CredentialError(kind: .invalid, text: error.description)
            }
            return try authentication(of: caller, credential)
        }
    }

    private func authentication(
        of caller: Caller, _ credential: Credential
    ) throws(CredentialError) -> Authentication {
        switch caller {
        case .administrator(let end, let key):
            // Only an administrator may act as somebody; to others the wish is nothing (rest.md 7).
            guard let acting = credential.acting else {
                return Authentication(principal: .administrator, expiresAt: end, key: key)
            }
            guard let acting = caller.acting(as: acting) else {
                throw CredentialError(kind: .invalid, text: "whom to act as must be a JSON object, or null")
            }
            return try authentication(of: acting, Credential(token: credential.token))
        case .simulated(let auth, let end, let key):
            return Authentication(
                principal: try Self.principal(auth ?? Array("null".utf8)), expiresAt: end, key: key)
        case .legacy(let auth, let end):
            try Self.requireUserCredential(credential)
            return Authentication(principal: try Self.principal(auth), expiresAt: end)
        case .user(let user):
            try Self.requireUserCredential(credential)
            return Authentication(
                principal: try Self.principal(
                    RuleAuth.json(uid: user.uid, provider: user.provider, claims: user.claims)),
                expiresAt: user.expiresAt,
                account: user.isOwn ? AccountSession(user, project: project) : nil)
        }
    }

    /// A user's token does not count where an administrator's is expected.
    private static func requireUserCredential(_ credential: Credential) throws(CredentialError) {
        if case .administrator = credential.token {
            throw CredentialError(kind: .notAdministrator, text: "an access token is needed here")
        }
    }

    private static func principal(_ auth: [UInt8]) throws(CredentialError) -> Principal {
        do throws(JSONError) {
            return try Principal(auth: auth)
        } catch {
            throw CredentialError(kind: .invalid, text: "the claims are too deep")
        }
    }
}
