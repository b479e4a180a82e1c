import HearthIdentity
import HearthJSONTree
import HearthJSONValues
import HearthJSONWebTokens
import Synchronization
import HearthTestSupport
import Testing

/// Accounts in a test's own folder, with a fixed clock.
final class AccountsFixture {
    let folder: TemporaryFolder
    let accounts: Accounts
    let clock: ManualClock
    let realm = Realm(project: "hearth")

    final class ManualClock: Sendable {
        /// Milliseconds since 1970.
        private let time = Atomic<Int64>(1_700_000_000_000)

        var now: Int64 { time.load(ordering: .relaxed) }

        func advance(seconds: Int64) { advance(milliseconds: seconds * 1000) }

        func advance(milliseconds: Int64) { time.add(milliseconds, ordering: .relaxed) }
    }

    init(
        in folder: TemporaryFolder = TemporaryFolder(), clock: ManualClock = ManualClock(),
        mode: TokenAuthority.Mode = .development, _ configure: (inout AccountOptions) -> Void = { _ in }
    ) throws {
        self.folder = folder
        self.clock = clock
        var options = AccountOptions()
        options.isDevelopment = true
        options.protectsEmails = false
        options.passwordCost = .init(logarithm: 2, blockSize: 1, rounds: 1)
        configure(&options)
        accounts = try Accounts(
            file: folder.path + "/accounts.sqlite", survivesPowerLoss: false, options: options, mode: mode
        ) { clock.now }
    }

    deinit { accounts.stop() }

    func signUp(_ email: String? = nil, _ password: String? = "secret1") throws -> SignIn {
        var new = NewUser()
        new.email = email
        new.password = email == nil ? nil : password
        return try accounts.signUp(new, in: realm)
    }

    func signIn(_ email: String, _ password: String = "secret1", from client: String = "test") throws -> SignIn {
        try accounts.signIn(email: email, password: password, in: realm, from: client)
    }

    /// The user as it is now.
    func user(_ id: String) throws -> User { try #require(try accounts.lookUp([.id(id)], in: realm).first) }

    /// The members of an ID token.
    func claims(_ signIn: SignIn) throws -> JSONObject { try JSONWebToken(parsing: signIn.idToken).claims }
}

/// Expects a refusal with a code.
func expectRefusal<Outcome>(
    _ code: AccountError.Code, _ what: String = "", sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Outcome
) {
    do {
        let outcome = try body()
        Issue.record("\(code) was expected, not \(outcome) \(what)", sourceLocation: sourceLocation)
    } catch AccountFailure.refused(let error) {
        #expect(error.code == code, "\(what)", sourceLocation: sourceLocation)
    } catch {
        Issue.record("\(code) was expected, not \(error) \(what)", sourceLocation: sourceLocation)
    }
}
