package import HearthEventLoop
package import HearthIdentity
package import HearthRealtimeDatabase
import HearthSystem

/// The user that a credential belongs to. Sessions keep it for as long as they act as that user.
package final class Authentication: Sendable {
    package let principal: Principal
    /// When the credential ends, in seconds since 1970; nil if it does not.
    package let expiresAt: Int64?
    /// The account of this server that it belongs to, if it does.
    package let account: AccountSession?
    /// The administrator's key that it was given for: the credential ends with it.
    package let key: AccessTokenKey?

    /// How soon is noticed that a key was removed, and that somebody has set the clock.
    private static let keyInterval = Duration.seconds(1)
    private static let clockInterval = Duration.seconds(86_400)

    init(
        principal: Principal, expiresAt: Int64? = nil, account: AccountSession? = nil, key: AccessTokenKey? = nil
    ) {
        self.principal = principal
        self.expiresAt = expiresAt
        self.account = account
        self.key = key
    }

    /// A name for the administrator that this is; nil for others.
    package var administrator: String? { principal.isAdministrator ? key?.name ?? "administrator" : nil }

    package static let nobody = Authentication(principal: .nobody)

    /// Calls `body` when the credential ends, unless the timer is cancelled before; nil if it does not end.
    package func schedule(on loop: EventLoop, _ body: @escaping () -> Void) -> Timer? {
        if expiresAt == nil, key == nil { return nil }
        weak var timer: Timer?
        let made = loop.makeTimer { [self] in
            if let wait { timer?.arm(after: wait) } else { body() }
        }
        timer = made
        made.arm(after: wait ?? .zero)
        return made
    }

    /// When to look again whether it has ended; nil if it has.
    private var wait: Duration? {
        if let key, !key.isRegistered { return nil }
        let interval = key == nil ? Self.clockInterval : Self.keyInterval
        guard let expiresAt else { return interval }
        let left = Duration.seconds(expiresAt) - .milliseconds(WallClock.milliseconds)
        return left <= .zero ? nil : min(left, interval)
    }
}

/// A session of a user with an account here: it ends when the user loses that, or its tokens.
package struct AccountSession: Hashable, Sendable {
    var realm: Realm
    package var user: String
    /// Of the token, in milliseconds since 1970.
    var issuedAt: Int64

    /// - parameter project: of tokens that name none, as tools make them.
    init(_ user: TokenUser, project: String) {
        realm = Realm(
            project: user.project.map { String(decoding: $0, as: UTF8.self) } ?? project,
            tenant: user.tenant.map { String(decoding: $0, as: UTF8.self) })
        self.user = String(decoding: user.uid, as: UTF8.self)
        issuedAt = user.issuedAt
    }

    package func isSameUser(as other: AccountSession) -> Bool {
        realm == other.realm && user.utf8.elementsEqual(other.user.utf8)
    }

    package func ends(with revocation: Revocation) -> Bool {
        guard revocation.user.utf8.elementsEqual(user.utf8), revocation.realm == realm else { return false }
        return switch revocation.loss {
        case .account, .disabled: true
        case .tokensBefore(let time): issuedAt < time
        }
    }
}
