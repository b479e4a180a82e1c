import HearthIdentity
import HearthTestSupport
import Testing

@Suite("Accounts, and a clock that was ahead") struct AccountClockTests {
    private let folder = KeyFolder()
    private static let day: Int64 = 86_400

    /// Tokens are signed, and their times count.
    private func production() throws -> AccountsFixture {
        let keys = try KeyStore(folder: folder.path, now: KeyFolder.start)
        return try AccountsFixture(mode: .production(keys)) { $0.isDevelopment = false }
    }

    private func revoke(_ signIn: SignIn, at seconds: Int64, _ fixture: AccountsFixture) throws {
        var change = UserChange()
        change.validSince = seconds
        _ = try fixture.accounts.update(.user(signIn.user.id), change, in: fixture.realm)
    }

    @Test("who signed up while it was ahead has good tokens once it was set back")
    func signUp() throws {
        let fixture = try production()
        fixture.clock.advance(seconds: Self.day)
        let (ann, bob) = (try fixture.signUp("ann@example.com"), try fixture.signUp("bob@example.com"))
        fixture.clock.advance(seconds: -Self.day)
        let refreshed = try fixture.accounts.refresh(ann.refreshToken).signIn
        let again = try fixture.signIn("bob@example.com")
        for signIn in [refreshed, again] {
            let user = try fixture.accounts.lookUp(signIn.idToken, in: fixture.realm)
            #expect(user.createdAt == fixture.clock.now)
            #expect(fixture.state(of: signIn) == .valid)
        }
        _ = try fixture.accounts.refresh(bob.refreshToken)
        // A later revocation holds.
        fixture.clock.advance(seconds: 10)
        try revoke(again, at: fixture.clock.now / 1000, fixture)
        #expect(fixture.state(of: again) == .revoked)
    }

    @Test("tokens that were revoked while it was ahead stay void; the administrator can let their user in again")
    func revocation() throws {
        let fixture = try production()
        fixture.clock.advance(seconds: Self.day)
        let thief = try fixture.signUp("ann@example.com")
        fixture.clock.advance(seconds: 600)
        try revoke(thief, at: fixture.clock.now / 1000, fixture)
        let ann = try fixture.signIn("ann@example.com")
        fixture.clock.advance(seconds: -Self.day)
        _ = try fixture.accounts.refresh(ann.refreshToken)
        _ = try fixture.signIn("ann@example.com")
        fixture.clock.advance(seconds: Self.day)
        #expect(fixture.state(of: thief) == .revoked)
        expectRefusal(.tokenExpired) { try fixture.accounts.lookUp(thief.idToken, in: fixture.realm) }

        fixture.clock.advance(seconds: -Self.day)
        let early = try fixture.signIn("ann@example.com")
        expectRefusal(.invalidIDToken) { try fixture.accounts.lookUp(early.idToken, in: fixture.realm) }
        try revoke(ann, at: fixture.clock.now / 1000 - 10, fixture)
        let late = try fixture.signIn("ann@example.com")
        #expect(try fixture.accounts.lookUp(late.idToken, in: fixture.realm).id == ann.user.id)
    }

    @Test("a session that began with a revocation has good tokens at once")
    func sameMillisecond() throws {
        let fixture = try production()
        let ann = try fixture.signUp("ann@example.com")
        try revoke(ann, at: fixture.clock.now / 1000, fixture)
        let again = try fixture.signIn("ann@example.com")
        #expect(fixture.state(of: try fixture.accounts.refresh(again.refreshToken).signIn) == .valid)
    }
}
