package import HearthIdentity
import HearthJSONValues
package import HearthRealtimeDatabase
import Synchronization
import HearthSystem

/// Whether users of an earlier process still have their accounts and tokens, by the `auth` of rules, which a database
/// has kept.
package struct StoredSessions: Sendable {
    private let accounts: Accounts
    private let trust: Trust

    package init(accounts: Accounts, trust: Trust) {
        self.accounts = accounts
        self.trust = trust
    }

    /// Waits for the thread of the accounts. True also when that cannot tell: nothing is done in the name of a user who
    /// may not do it any more.
    package func isRevoked(_ principal: Principal) -> Bool {
        // Users of test tools have no account.
        guard !accounts.options.isDevelopment, let session = Session(principal) else { return false }
        let answer = Mutex<SessionState>(.unknown)
        let isAnswered = Semaphore()
        accounts.checkSession(session.realm, user: session.user, issuedAt: session.issuedAt) { state in
            answer.withLock { $0 = state }
            isAnswered.signal()
        }
        isAnswered.wait()
        return switch answer.withLock({ $0 }) {
        case .valid: false
        // It may be a user of another issuer of that name, whom the accounts need not know.
        case .noUser: !trust.verifier.hasForeignIssuer(ofProject: session.realm.project)
        case .disabled, .revoked, .unknown: true
        }
    }

    private struct Session {
        let realm: Realm
        let user: String
        /// In milliseconds since 1970, the earliest that it can be: `iat` counts seconds.
        let issuedAt: Int64

        /// Nil for somebody without an account here.
        init?(_ principal: Principal) {
            guard !principal.isAdministrator, let auth = try? JSONValue(parsing: principal.json).object,
                let user = auth["uid"]?.text, let claims = auth["token"]?.object,
                let project = claims["aud"]?.text, let seconds = claims["iat"]?.integer,
                claims["iss"]?.isText(IDToken.issuer(of: project)) == true
            else { return nil }
            realm = Realm(project: project, tenant: claims["firebase"]?.object?["tenant"]?.text)
            self.user = user
            let (milliseconds, isTooLarge) = seconds.multipliedReportingOverflow(by: 1000)
            issuedAt = isTooLarge ? 0 : milliseconds
        }
    }
}
