import HearthIdentity
import HearthJSONValues
import HearthTestSupport
import Testing

@Suite("Changes of how a user signs in") struct SignInMethodTests {
    /// Like a server in production, but with addresses that are changed without a mail.
    private func production() throws -> AccountsFixture { try AccountsFixture { $0.isDevelopment = false } }

    private func identity(
        _ rawID: String, _ email: String? = nil, verified: Bool = false, provider: String = "google.com"
    ) -> ProviderIdentity {
        var identity = ProviderIdentity(provider: provider, rawID: rawID, profile: JSONObject())
        identity.email = email
        identity.isEmailVerified = verified
        return identity
    }

    @discardableResult
    private func signIn(
        _ fixture: AccountsFixture, _ identity: ProviderIdentity, linkingTo idToken: [UInt8]? = nil
    ) throws -> SignIn {
        let outcome = try fixture.accounts.signIn(
            identity, linkingTo: idToken, createsAccount: true, in: fixture.realm)
        guard case .signedIn(let signIn, _) = outcome else { throw NotSignedIn() }
        return signIn
    }

    private struct NotSignedIn: Error {}

    private func link(
        _ fixture: AccountsFixture, _ email: String, linkingTo idToken: [UInt8]? = nil
    ) throws -> SignIn {
        let code = try #require(
            try fixture.accounts.issueCode(.emailSignIn, for: .email(email), newEmail: nil, in: fixture.realm).issued)
        return try fixture.accounts.signIn(
            email: email, code: code.text, linkingTo: idToken, in: fixture.realm)
    }

    private func update(
        _ fixture: AccountsFixture, _ token: [UInt8], _ change: (inout UserChange) -> Void
    ) throws -> UserUpdate {
        var asked = UserChange()
        change(&asked)
        return try fixture.accounts.update(.idToken(token), asked, in: fixture.realm)
    }

    /// Every way to change how a user signs in, by a token alone.
    private static let ways:
        [(name: String, change: @Sendable (SignInMethodTests, AccountsFixture, [UInt8]) throws -> Void)] = [
            ("password", { _ = try $0.update($1, $2) { $0.password = "secret2" } }),
            ("address", { _ = try $0.update($1, $2) { $0.email = "new@example.com" } }),
            ("delete the address", { _ = try $0.update($1, $2) { $0.deletedAttributes = ["EMAIL"] } }),
            ("delete the password", { _ = try $0.update($1, $2) { $0.deletedAttributes = ["PASSWORD"] } }),
            ("unlink the password", { _ = try $0.update($1, $2) { $0.deletedProviders = ["password"] } }),
            ("unlink a provider", { _ = try $0.update($1, $2) { $0.deletedProviders = ["oidc.a"] } }),
            ("unlink the telephone", { _ = try $0.update($1, $2) { $0.deletedProviders = ["phone"] } }),
            ("link a provider", { try $0.signIn($1, $0.identity("thief"), linkingTo: $2) }),
            ("link mails", { _ = try $0.link($1, "ann@example.com", linkingTo: $2) }),
            (
                "ask for another address",
                {
                    _ = try $1.accounts.issueCode(
                        .verifyAndChangeEmail, for: .idToken($2), newEmail: "new@example.com", in: $1.realm)
                }
            ),
            ("end the account", { try $1.accounts.delete($2, in: $1.realm) }),
        ]

    private func user(_ fixture: AccountsFixture) throws -> SignIn {
        let ann = try fixture.signUp("ann@example.com")
        var change = UserChange()
        change.phone = "+15551234567"
        change.link = ProviderLink(provider: "oidc.a", rawID: "1")
        change.emailVerified = true
        _ = try fixture.accounts.update(.user(ann.user.id), change, in: fixture.realm)
        return ann
    }

    @Test("an old token, and what a refresh makes of it, changes none of them", arguments: ways.indices)
    func oldToken(index: Int) throws {
        let (name, change) = Self.ways[index]
        let fixture = try production()
        let ann = try user(fixture)
        fixture.clock.advance(seconds: 301)
        let before = try fixture.user(ann.user.id)
        let renewed = try fixture.accounts.refresh(ann.refreshToken).signIn
        for token in [ann.idToken, renewed.idToken] {
            expectRefusal(.credentialTooOld, name) { try change(self, fixture, token) }
        }
        #expect(try fixture.user(ann.user.id).providers == before.providers)
        _ = try fixture.signIn("ann@example.com")
    }

    @Test("with a recent sign-in each of them is done", arguments: ways.indices)
    func recentToken(index: Int) throws {
        let fixture = try production()
        let ann = try user(fixture)
        fixture.clock.advance(seconds: 299)
        try Self.ways[index].change(self, fixture, ann.idToken)
    }

    @Test("what changes nothing about it needs no recent sign-in, and makes no recent one of an old one")
    func otherChanges() throws {
        let fixture = try production()
        let ann = try user(fixture)
        fixture.clock.advance(seconds: 301)
        let update = try update(fixture, ann.idToken) {
            $0.displayName = "Ann"
            // Members for administrators are dropped.
            $0.validSince = 1_700_000_301
            $0.emailVerified = false
            $0.createdAt = 0
            $0.email = "ann@example.com"
            $0.deletedProviders = ["facebook.com"]
        }
        #expect(update.signIn == nil)
        #expect(update.changes.isEmpty)
        #expect(update.user.displayName == "Ann")
        #expect(update.user.emailVerified)
        #expect(update.user.createdAt != 0)
    }

    @Test("an anonymous user of any age can become a permanent one, by every way")
    func anonymous() throws {
        let fixture = try production()
        let guests = try (0..<3).map { _ in try fixture.signUp() }
        fixture.clock.advance(seconds: 3000)
        let first = try update(fixture, guests[0].idToken) {
            $0.email = "a@example.com"
            $0.password = "secret1"
        }
        #expect(first.user.id == guests[0].user.id)
        #expect(first.changes == ["+email", "+password"])
        #expect(try signIn(fixture, identity("1"), linkingTo: guests[1].idToken).user.id == guests[1].user.id)
        let third = try link(fixture, "c@example.com", linkingTo: guests[2].idToken)
        #expect(third.user.id == guests[2].user.id)
        #expect(third.changes == ["+email", "+emailLink"])
        // Now they are users like others, and their old tokens are old.
        expectRefusal(.credentialTooOld) {
            try update(fixture, guests[1].idToken) { $0.deletedProviders = ["google.com"] }
        }
        // The end of an account that nobody can sign in to again needs no sign-in.
        let fourth = try fixture.signUp()
        fixture.clock.advance(seconds: 3000)
        try fixture.accounts.delete(fourth.idToken, in: fixture.realm)
    }

    @Test("a link of a mail is not linked to a user with another address")
    func otherAddress() throws {
        let fixture = try production()
        let ann = try fixture.signUp("ann@example.com")
        expectRefusal(.operationNotAllowed) { try link(fixture, "thief@example.com", linkingTo: ann.idToken) }
        #expect(try fixture.user(ann.user.id).email == "ann@example.com")
        #expect(try link(fixture, "ann@example.com", linkingTo: ann.idToken).user.hasEmailLink)
    }

    @Test(
        "the owner of an address that is taken away hears of it, and gets it back, even from who has registered it since",
        arguments: [true, false])
    func removedAddress(asProvider: Bool) throws {
        let fixture = try production()
        let ann = try user(fixture)
        let update = try update(fixture, ann.idToken) {
            if asProvider { $0.deletedProviders = ["password"] } else { $0.deletedAttributes = ["EMAIL"] }
        }
        #expect(update.emailChanged)
        #expect(update.user.email == nil)
        let recovery = try #require(update.recovery)
        #expect(recovery.code.kind == .recoverEmail)
        #expect(recovery.code.email == "ann@example.com")
        let squatter = try fixture.signUp("ann@example.com", "secret9")
        let back = try fixture.accounts.apply(code: recovery.text, in: fixture.realm).user
        #expect(back.id == ann.user.id)
        #expect(back.email == "ann@example.com")
        #expect(back.emailVerified)
        #expect(try fixture.user(squatter.user.id).isAnonymous)
        expectRefusal(.tokenExpired) { try fixture.accounts.refresh(squatter.refreshToken) }
    }

    @Test("an address that somebody else has proved to own in the meantime stays theirs")
    func recoveredTooLate() throws {
        let fixture = try production()
        let ann = try user(fixture)
        let recovery = try update(fixture, ann.idToken) { $0.deletedAttributes = ["EMAIL"] }.recovery
        _ = try link(fixture, "ann@example.com")
        expectRefusal(.emailExists) {
            try fixture.accounts.apply(code: try #require(recovery).text, in: fixture.realm)
        }
    }

    @Test("sessions that began by a way that is gone end, but for the one that asks")
    func sessionsOfALostWay() throws {
        let fixture = try production()
        let google = identity("1", "ann@example.com", verified: true)
        let first = try signIn(fixture, google)
        let password = try fixture.accounts.update(
            .idToken(first.idToken),
            {
                var change = UserChange()
                change.password = "secret1"
                return change
            }(), in: fixture.realm)
        #expect(password.changes == ["+password"])
        let other = try signIn(fixture, google)
        fixture.clock.advance(seconds: 1)
        let here = try signIn(fixture, google)
        let mine = try fixture.signIn("ann@example.com")
        let unlinked = try update(fixture, here.idToken) { $0.deletedProviders = ["google.com"] }
        #expect(unlinked.changes == ["-google.com"])
        // No new tokens, which SDKs would not look at.
        #expect(unlinked.signIn == nil)
        for session in [here, mine] { _ = try fixture.accounts.refresh(session.refreshToken) }
        expectRefusal(.tokenExpired) { try fixture.accounts.refresh(other.refreshToken) }
    }

    // MARK: Who registers an address without owning it

    /// Everything that the maker of an account can leave in it.
    private func squat(_ fixture: AccountsFixture) throws -> SignIn {
        let squatter = try fixture.signUp("squatter@example.com")
        _ = try link(fixture, "squatter@example.com", linkingTo: squatter.idToken)
        _ = try fixture.accounts.signIn(
            CustomToken(trusting: Array(#"{"uid":"\#(squatter.user.id)"}"#.utf8)), in: fixture.realm)
        try signIn(fixture, identity("squatter", provider: "oidc.a"), linkingTo: squatter.idToken)
        var change = UserChange()
        change.phone = "+15551234567"
        _ = try fixture.accounts.update(.user(squatter.user.id), change, in: fixture.realm)
        let moved = try update(fixture, squatter.idToken) { $0.email = "cto@example.com" }
        // By which the maker would have the account back.
        recovery.code = try #require(moved.recovery).text
        return try #require(moved.signIn)
    }

    private final class Box {
        var code = ""
    }
    private let recovery = Box()

    private func expectShutOut(_ squatter: SignIn, _ owner: User, _ fixture: AccountsFixture) throws {
        #expect(owner.id == squatter.user.id)
        #expect(owner.email == "cto@example.com")
        #expect(owner.emailVerified)
        #expect(owner.phone == nil)
        #expect(!owner.hasCustomAuth)
        #expect(!owner.links.contains { $0.provider == "oidc.a" })
        expectRefusal(.tokenExpired) { try fixture.accounts.refresh(squatter.refreshToken) }
        expectRefusal(.tokenExpired) { try fixture.accounts.lookUp(squatter.idToken, in: fixture.realm) }
        #expect(fixture.state(of: squatter) == .revoked)
        expectRefusal(.invalidPassword) { try fixture.signIn("cto@example.com") }
        expectRefusal(.invalidCode) { try fixture.accounts.apply(code: recovery.code, in: fixture.realm) }
        #expect(try signIn(fixture, identity("squatter", provider: "oidc.a")).user.id != owner.id)
    }

    @Test("the owner who comes by a link of a mail shuts them out")
    func takeoverByLink() throws {
        let fixture = try production()
        let squatter = try squat(fixture)
        let owner = try link(fixture, "cto@example.com")
        #expect(!owner.isNew)
        #expect(owner.user.links.isEmpty)
        #expect(owner.user.password == nil)
        try expectShutOut(squatter, owner.user, fixture)
    }

    @Test("the owner who comes by a provider shuts them out")
    func takeoverByProvider() throws {
        let fixture = try production()
        let squatter = try squat(fixture)
        let owner = try signIn(fixture, identity("cto", "cto@example.com", verified: true))
        #expect(owner.user.links.map(\.provider) == ["google.com"])
        #expect(owner.user.password == nil)
        #expect(!owner.user.hasEmailLink)
        try expectShutOut(squatter, owner.user, fixture)
    }

    @Test("the owner who sets a new password shuts them out")
    func takeoverByPassword() throws {
        let fixture = try production()
        let squatter = try squat(fixture)
        let code = try #require(
            try fixture.accounts.issueCode(
                .resetPassword, for: .email("cto@example.com"), newEmail: nil, in: fixture.realm
            ).issued)
        _ = try fixture.accounts.resetPassword(code.text, to: "secret2", in: fixture.realm)
        let owner = try fixture.signIn("cto@example.com", "secret2").user
        try expectShutOut(squatter, owner, fixture)
    }

    @Test("an account without a password, made by a provider that proves no address, is taken over too")
    func takeoverWithoutPassword() throws {
        let fixture = try production()
        let squatter = try signIn(fixture, identity("squatter", "cfo@example.com", provider: "facebook.com"))
        let owner = try link(fixture, "cfo@example.com")
        #expect(owner.user.id == squatter.user.id)
        #expect(owner.user.links.isEmpty)
        guard
            case .needsConfirmation = try fixture.accounts.signIn(
                identity("squatter", "cfo@example.com", provider: "facebook.com"), linkingTo: nil,
                createsAccount: true, in: fixture.realm)
        else {
            Issue.record("the maker of the account still gets in")
            return
        }
        expectRefusal(.tokenExpired) { try fixture.accounts.refresh(squatter.refreshToken) }
    }

    // MARK: What others have

    @Test("nobody learns what others have by naming it, and questions about addresses are counted")
    func enumeration() throws {
        let fixture = try AccountsFixture {
            $0.isDevelopment = false
            $0.attemptsPerAccountMax = 3
        }
        let ann = try user(fixture)
        let guest = try fixture.signUp()
        let harmless = try update(fixture, guest.idToken) {
            $0.phone = "+15551234567"
            $0.link = ProviderLink(provider: "oidc.a", rawID: "1")
        }
        #expect(harmless.user.isAnonymous)
        #expect(harmless.changes.isEmpty)
        for _ in 0..<3 {
            expectRefusal(.emailExists) { try update(fixture, guest.idToken) { $0.email = ann.user.email } }
        }
        for email in ["ann@example.com", "free@example.com"] {
            expectRefusal(.tooManyAttempts) { try update(fixture, guest.idToken) { $0.email = email } }
        }
        // Who could not change the address anyway does not learn it either.
        let bob = try fixture.signUp("bob@example.com")
        fixture.accounts.hidesEmails = true
        for email in ["ann@example.com", "free@example.com"] {
            expectRefusal(.operationNotAllowed) { try update(fixture, bob.idToken) { $0.email = email } }
        }
        fixture.clock.advance(seconds: 3000)
        for email in ["ann@example.com", "free@example.com"] {
            expectRefusal(.credentialTooOld) { try update(fixture, bob.idToken) { $0.email = email } }
        }
    }

    @Test(
        "times of any size are taken by administrators, and none of the future",
        arguments: [Int64.min, .min + 1, -1, 0, 1 << 53, .max / 1000, .max])
    func times(seconds: Int64) throws {
        let fixture = try AccountsFixture()
        let ann = try fixture.signUp("ann@example.com").user
        var change = UserChange()
        change.validSince = seconds
        change.createdAt = seconds
        change.lastLoginAt = seconds
        let user = try fixture.accounts.update(.user(ann.id), change, in: fixture.realm).user
        #expect((0...fixture.clock.now + 2).contains(user.validSince))
        #expect((0...fixture.clock.now).contains(User.validSince(seconds: seconds, now: fixture.clock.now)))
        _ = try fixture.signIn("ann@example.com")
    }
}
