import HearthIdentity
import HearthJSONValues
import HearthSQLite
import HearthStorageErrors
import HearthTestSupport
import Testing

@Suite("Rows of accounts that changed on the disk") struct AccountDamageTests {
    private func change(_ fixture: AccountsFixture, _ sql: String) throws {
        try Connection(path: fixture.folder.path + "/accounts.sqlite", mode: .readWrite).execute(sql)
    }

    private func expectDamage(_ what: String, _ body: () throws -> Void) {
        do {
            try body()
            Issue.record("damage was expected: \(what)")
        } catch AccountFailure.storage(.damaged(let text)) {
            #expect(text.contains("accounts.sqlite"), "\(what): \(text)")
        } catch {
            Issue.record("damage was expected, not \(error): \(what)")
        }
    }

    private func problems(_ fixture: AccountsFixture) throws -> [String] {
        try #require(Accounts.check(folder: fixture.folder.path)?.problems)
    }

    /// A user with a link, a session and a code.
    private func makeUser(_ fixture: AccountsFixture) throws -> SignIn {
        let ann = try fixture.signUp("ann@example.com")
        var change = UserChange()
        change.link = ProviderLink(provider: "oidc.a", rawID: "1")
        _ = try fixture.accounts.update(.user(ann.user.id), change, in: fixture.realm)
        return ann
    }

    @Test(
        "are refused, and named by the check",
        arguments: [
            "email = 'thief@example.com'", "password = 'x'", "flags = flags | 1", "claims = '{\"admin\":true}'",
            "validSince = 0", "checksum = checksum + 1", "checksum = NULL", "displayName = ''",
        ])
    func users(damage: String) throws {
        let fixture = try AccountsFixture()
        let ann = try makeUser(fixture)
        _ = try fixture.signUp("bob@example.com")
        #expect(try problems(fixture) == [])
        try change(fixture, "UPDATE users SET \(damage) WHERE id = '\(ann.user.id)'")
        expectDamage(damage) { _ = try fixture.accounts.lookUp([.id(ann.user.id)], in: fixture.realm) }
        expectDamage(damage) { _ = try fixture.accounts.lookUp(ann.idToken, in: fixture.realm) }
        #expect(
            try problems(fixture) == [
                "\(fixture.folder.path)/accounts.sqlite: users: the row hearth \(ann.user.id) is damaged"
            ])
        // Others are served.
        _ = try fixture.signIn("bob@example.com")
    }

    @Test("do not lead to somebody else's account")
    func links() throws {
        let fixture = try AccountsFixture()
        _ = try makeUser(fixture)
        let bob = try fixture.signUp("bob@example.com")
        try change(fixture, "UPDATE links SET user = '\(bob.user.id)'")
        expectDamage("links") {
            _ = try fixture.accounts.signIn(
                ProviderIdentity(provider: "oidc.a", rawID: "1", profile: .init()), linkingTo: nil,
                createsAccount: true, in: fixture.realm)
        }
        #expect(
            try problems(fixture) == [
                "\(fixture.folder.path)/accounts.sqlite: links: the row hearth oidc.a 1 is damaged"
            ])
    }

    @Test("open no session and are no code")
    func secrets() throws {
        let fixture = try AccountsFixture()
        let ann = try makeUser(fixture)
        let code = try #require(
            try fixture.accounts.issueCode(
                .resetPassword, for: .email("ann@example.com"), newEmail: nil, in: fixture.realm
            ).issued)
        try change(fixture, "UPDATE refreshTokens SET provider = 'google.com'; UPDATE codes SET kind = 'EMAIL_SIGNIN'")
        expectDamage("refresh token") { _ = try fixture.accounts.refresh(ann.refreshToken) }
        expectDamage("code") { _ = try fixture.accounts.inspectCode(code.text, in: fixture.realm) }
        #expect(try problems(fixture).count == 2)
    }

    @Test("are none after all that is done with accounts")
    func everything() throws {
        let fixture = try AccountsFixture()
        let ann = try makeUser(fixture)
        var change = UserChange()
        change.deletedProviders = ["oidc.a"]
        change.displayName = "Ann"
        _ = try fixture.accounts.update(.idToken(ann.idToken), change, in: fixture.realm)
        _ = try fixture.accounts.issueCode(
            .emailSignIn, for: .email("bob@example.com"), newEmail: nil, in: fixture.realm)
        change = UserChange()
        change.password = "secret2"
        _ = try fixture.accounts.update(.user(ann.user.id), change, in: fixture.realm)
        _ = try fixture.accounts.refresh(try fixture.signIn("ann@example.com", "secret2").refreshToken)
        expectRefusal(.tokenExpired) { try fixture.accounts.refresh(ann.refreshToken) }
        #expect(try problems(fixture) == [])
        try fixture.accounts.delete(user: ann.user.id, in: fixture.realm)
        #expect(try problems(fixture) == [])
    }

    @Test("get their checksums when a file without them is opened")
    func oldFile() throws {
        let folder = TemporaryFolder()
        var fixture: AccountsFixture? = try AccountsFixture(in: folder)
        let ann = try makeUser(try #require(fixture))
        fixture?.accounts.stop()
        fixture = nil
        let connection = try Connection(path: folder.path + "/accounts.sqlite", mode: .readWrite)
        for table in ["users", "links", "refreshTokens", "codes"] {
            try connection.execute("ALTER TABLE \(table) DROP COLUMN checksum")
        }
        try connection.execute("PRAGMA user_version = 0")
        #expect(Accounts.check(folder: folder.path)?.problems == [])
        let next = try AccountsFixture(in: folder)
        #expect(try next.signIn("ann@example.com").user.links.map(\.rawID) == ["1"])
        _ = try next.accounts.refresh(ann.refreshToken)
        try change(next, "UPDATE users SET password = 'x'")
        expectDamage("password") { _ = try next.signIn("ann@example.com") }
    }
}
