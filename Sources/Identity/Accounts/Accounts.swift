import HearthJSONValues
import HearthJSONWebTokens
package import HearthStorageErrors
import Synchronization
import HearthSystem

/// How accounts are served.
package struct AccountOptions: Sendable {
    /// The project of clients, which name none.
    package var project = "hearth"
    /// The file for the projects of clients that development mode learns of; nil if all are of `project`.
    package var projectsFile: String?
    /// Development: other projects and tenants are there as soon as they are named, tokens are taken at their word,
    /// limits are off.
    package var isDevelopment = false
    /// Clients cannot learn who has an account (accounts.md 8: e-mail enumeration protection).
    package var protectsEmails = true
    package var allowsPasswords = true
    package var allowsAnonymous = true
    package var allowsEmailLinks = true
    /// The project's tenants.
    package var tenants: Set<String> = []
    package var passwordCost = ScryptCost.standard
    /// Wrong passwords for one account in ``attemptWindow``; changes of its password or address too.
    package var attemptsPerAccountMax = 10
    /// Sign-ins of any kind from one address in ``attemptWindow``; and as many new accounts, requests for mails, and
    /// questions that tell whether an account is there.
    package var attemptsPerAddressMax = 300
    /// Mails to one account in ``attemptWindow``.
    package var mailsPerAccountMax = 5
    package var attemptWindow = Duration.seconds(15 * 60)
    /// The nodes of a cluster have the same accounts: ``Accounts/begin(_:)`` follows.
    package var areShared = false
    /// A change of the ways to sign in, and the end of an account, need a sign-in within this time.
    package var recentSignInSeconds: Int64 = 300

    package init() {}
}

/// The accounts of a server and all that can be done with them (accounts.md 4). Any thread but an event loop: calls
/// wait for the disk and for password hashes.
package final class Accounts: Sendable {
    package let options: AccountOptions
    let thread: AccountThread
    package let hasher: PasswordHasher
    package let projects: ClientProjects
    private let mode: TokenAuthority.Mode
    let attempts: AttemptLimiter
    /// Which clients have signed in to which accounts with a password.
    let familiar = ExpiringSet()
    private let protectsEmails: Mutex<Bool>
    private let observers: Observers
    private let clock: @Sendable () -> Int64

    private final class Observers: Sendable {
        let all = Mutex<[@Sendable ([Revocation]) -> Void]>([])
        let storage = Mutex<StorageState>(StorageState())
    }

    private struct StorageState {
        var error: StorageError?
        var observer: (@Sendable (StorageError?) -> Void)?
    }

    /// Opens the accounts.
    ///
    /// - parameter survivesPowerLoss: acknowledged changes are on the disk.
    /// - parameter clock: milliseconds since 1970.
    package init(
        file path: String, survivesPowerLoss: Bool, options: AccountOptions, mode: TokenAuthority.Mode,
        clock: @escaping @Sendable () -> Int64 = { WallClock.milliseconds }
    ) throws(AccountFailure) {
        self.options = options
        self.mode = mode
        self.clock = clock
        hasher = PasswordHasher(cost: options.passwordCost)
        attempts = AttemptLimiter(windowMilliseconds: Int64(options.attemptWindow.components.seconds) * 1000)
        protectsEmails = Mutex(options.protectsEmails)
        let observers = Observers()
        self.observers = observers
        let file: AccountFile
        do throws(StorageError) {
            file = try AccountFile(
                path: path, survivesPowerLoss: survivesPowerLoss, isShared: options.areShared)
        } catch { throw .storage(error) }
        projects = ClientProjects(
            options.project, learningIn: options.isDevelopment ? options.projectsFile : nil, known: try file.projects())
        do throws(SystemError) {
            thread = try AccountThread(file, isShared: options.areShared) { revocations in
                for observe in observers.all.withLock({ $0 }) { observe(revocations) }
            } observeStorage: { error in
                let observer = observers.storage.withLock { state in
                    let isChange = state.error != error
                    state.error = error
                    return isChange ? state.observer : nil
                }
                observer?(error)
            }
        } catch { throw .storage(.inputOutput("\(error)")) }
    }

    /// Finishes running work, and ends.
    package func stop() { thread.stop() }

    /// Milliseconds since 1970.
    package var now: Int64 { clock() }
    var nowSeconds: Int64 { now / 1000 }

    /// Who makes and believes the tokens of a realm.
    package func authority(_ realm: Realm) -> TokenAuthority { TokenAuthority(project: realm.project, mode: mode) }

    /// Whether unknown users and wrong passwords look alike.
    package var hidesEmails: Bool {
        get { protectsEmails.withLock { $0 } }
        set { protectsEmails.withLock { $0 = newValue } }
    }

    /// The realm that a request names, by project and tenant; nil or `-` for the project of clients.
    package func realm(project: String?, tenant: String?) throws(AccountFailure) -> Realm {
        let project = project == nil || project == "-" ? projects.current : project ?? ""
        guard project.utf8.elementsEqual(options.project.utf8) || options.isDevelopment && Realm.isValidName(project)
        else { throw .refused(.invalidProjectID) }
        if let tenant {
            guard options.isDevelopment ? Realm.isValidName(tenant) : options.tenants.contains(tenant) else {
                throw .refused(.tenantNotFound)
            }
        }
        return Realm(project: project, tenant: tenant)
    }

    // MARK: Other nodes

    /// Shares the accounts with other nodes from now on. Until the cluster's accounts are here, requests are refused.
    package func begin(_ sharing: any AccountSharing) { thread.begin(sharing) }

    /// Calls `body`, on the thread of the accounts, once those of the cluster are here.
    package func whenComplete(_ body: @escaping @Sendable () -> Void) { thread.whenComplete(body) }

    /// To be called when this node has more of the shared commits.
    package func arrived() { thread.arrived() }

    /// Refuses changes that other nodes would have to hear of, from now on. Before the server stops.
    package func endSharing() { thread.endSharing() }

    // MARK: Storage

    /// Calls `observer` when accounts cannot be read or written, and with nil once they can.
    package func observeStorage(_ observer: @escaping @Sendable (StorageError?) -> Void) {
        observers.storage.withLock { $0.observer = observer }
        thread.probe()
    }

    /// To be called about once a second: finds out whether the file is still there, and, after an error, whether it can
    /// be written again.
    package func lookAtFile() {
        if observers.storage.withLock({ $0.error }) == nil { thread.look() } else { thread.probe() }
    }

    // MARK: Live sessions

    /// Calls `observer` with revocations, once they are durable. On the thread of the accounts: it must only pass them
    /// on.
    package func observe(_ observer: @escaping @Sendable ([Revocation]) -> Void) {
        observers.all.withLock { $0.append(observer) }
    }

    /// Whether a token that was verified still holds. Never waits: `then` is called on the thread of the accounts. Who
    /// calls ``observe(_:)`` first misses nothing that happens afterwards.
    ///
    /// - parameters:
    ///   - issuedAt: of the token, in milliseconds since 1970.
    ///   - awaitsNewUsers: a user whom this node does not know, with a new token, may have signed up at another node: the
    ///     answer comes once this node has what all have. Not for a thread that the cluster's database needs.
    package func checkSession(
        _ realm: Realm, user id: String, issuedAt: Int64, awaitsNewUsers: Bool = false,
        then: @escaping @Sendable (SessionState) -> Void
    ) {
        let isNew = awaitsNewUsers && options.areShared && now - issuedAt < Self.newTokenMilliseconds
        checkSession(realm, id, issuedAt, needing: .own) { [self] state in
            if case .noUser = state, isNew {
                checkSession(realm, id, issuedAt, needing: .newest, then: then)
            } else {
                then(state)
            }
        }
    }

    /// How long commits of other nodes may be under way to this one.
    private static let newTokenMilliseconds: Int64 = 60_000

    private func checkSession(
        _ realm: Realm, _ id: String, _ issuedAt: Int64, needing need: AccountJob.Need,
        then: @escaping @Sendable (SessionState) -> Void
    ) {
        thread.post(needing: need) { (file) throws(AccountFailure) in
            try file.user(realm, id: id)
        } then: { result in
            switch result {
            case .failure: then(.unknown)
            case .success(nil): then(.noUser)
            case .success(let user?):
                then(user.isDisabled ? .disabled : issuedAt < user.validSince ? .revoked : .valid)
            }
        }
    }

    // MARK: ID tokens of clients

    /// The claims of a request's ID token, if it is one of this realm.
    func verify(_ token: [UInt8], in realm: Realm) throws(AccountFailure) -> IDToken {
        do throws(TokenError) {
            let token = try authority(realm).verifyIDToken(token, now: nowSeconds)
            guard token.tenant.map({ String(decoding: $0, as: UTF8.self) }) == realm.tenant else {
                throw TokenError.wrongAudience
            }
            return token
        } catch {
            throw .refused(error == .expired ? .tokenExpired : .invalidIDToken)
        }
    }

    /// The tenant in an ID token that is not verified yet: only to find the realm in which it is verified.
    package func tenant(of idToken: [UInt8]) -> String? {
        (try? JSONWebToken(parsing: idToken))?.claims["firebase"]?.object?["tenant"]?.text
    }
}

extension IDToken {
    var userID: String { String(decoding: uid, as: UTF8.self) }
}

extension AccountFile {
    /// The user of an ID token, if it still holds.
    func user(_ realm: Realm, of token: IDToken) throws(AccountFailure) -> User {
        guard let user = try user(realm, id: token.userID) else { throw .refused(.userNotFound) }
        guard !user.isDisabled else { throw .refused(.userDisabled) }
        guard token.issuedAt >= user.validSince else { throw .refused(.tokenExpired) }
        return user
    }
}
