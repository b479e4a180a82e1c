import EventLoop
import Identity
import RealtimeDatabase

/// Whom a credential has turned out to be. Whoever is somebody for a while keeps it.
final class Authentication: Sendable {
    let principal: Principal
    /// When the credential ends, in seconds since 1970; nil if it does not.
    let expiresAt: Int64?
    /// The account of this server that it belongs to, if it does.
    let account: AccountSession?

    init(principal: Principal, expiresAt: Int64? = nil, account: AccountSession? = nil) {
        self.principal = principal
        self.expiresAt = expiresAt
        self.account = account
    }

    static let nobody = Authentication(principal: .nobody)

    /// Calls `body` when the credential ends, unless the timer is cancelled before; nil if it does not end.
    func schedule(on loop: EventLoop, _ body: @escaping () -> Void) -> Timer? {
        expiresAt.map { seconds in
            loop.schedule(after: .milliseconds(max(0, seconds * 1000 - WallClock.milliseconds)), body)
        }
    }
}

/// A session of a user with an account here: it ends when the user loses that, or its tokens.
struct AccountSession: Hashable, Sendable {
    var realm: Realm
    var user: String
    /// Of the token, in milliseconds since 1970.
    var issuedAt: Int64

    init(_ user: TokenUser, project: String) {
        realm = Realm(project: project, tenant: user.tenant.map { String(decoding: $0, as: UTF8.self) })
        self.user = String(decoding: user.uid, as: UTF8.self)
        issuedAt = user.issuedAt
    }

    func ends(with revocation: Revocation) -> Bool {
        guard revocation.user.utf8.elementsEqual(user.utf8), revocation.realm == realm else { return false }
        return switch revocation.loss {
        case .account, .disabled: true
        case .tokensBefore(let time): issuedAt < time
        }
    }
}
