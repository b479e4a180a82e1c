import HearthIdentity
import HearthJSONValues
import HearthTestSupport
import Testing

@Suite("Sign-in by way of other providers (accounts.md 4)") struct FederatedSignInTests {
    private func signIn(
        _ fixture: AccountsFixture, _ rawID: String, _ email: String? = nil, verified: Bool = false,
        provider: String = "google.com", linkingTo idToken: [UInt8]? = nil, creates: Bool = true
    ) throws -> Accounts.FederatedOutcome {
        var user = ProviderIdentity(provider: provider, rawID: rawID, profile: JSONObject())
        user.email = email
        user.isEmailVerified = verified
        user.displayName = "Name of \(rawID)"
        return try fixture.accounts.signIn(user, linkingTo: idToken, createsAccount: creates, in: fixture.realm)
    }

    private func signedIn(_ outcome: Accounts.FederatedOutcome) throws -> SignIn {
        guard case .signedIn(let signIn, _) = outcome else {
            throw TestFailure(text: "not signed in: \(outcome)")
        }
        return signIn
    }

    private struct TestFailure: Error {
        let text: String
    }

    @Test("an account is made at the first time and found again by the provider's id, not by its address")
    func again() throws {
        let fixture = try AccountsFixture()
        expectRefusal(.userNotFound) { try signIn(fixture, "1", "ann@example.com", creates: false) }
        let first = try signedIn(signIn(fixture, "1", "ann@example.com", verified: true))
        #expect(first.isNew)
        #expect(first.user.displayName == "Name of 1")
        let claims = try fixture.claims(first)["firebase"]?.object
        #expect(claims?["sign_in_provider"]?.text == "google.com")
        #expect(claims?["identities"]?.object?["google.com"]?.array?.first?.text == "1")
        let second = try signedIn(signIn(fixture, "1", "other@example.com", creates: false))
        #expect(!second.isNew)
        #expect(second.user.id == first.user.id)
        #expect(second.user.email == "ann@example.com")
    }

    @Test("a verified address takes over an account that never proved it, and shuts out who made it")
    func takeOver() throws {
        let fixture = try AccountsFixture()
        let squatter = try fixture.signUp("ann@example.com")
        let owner = try signedIn(signIn(fixture, "1", "ann@example.com", verified: true))
        #expect(owner.user.id == squatter.user.id)
        #expect(owner.user.password == nil)
        expectRefusal(.tokenExpired) { try fixture.accounts.refresh(squatter.refreshToken) }
        guard case .signedIn(_, emailRecycled: true) = try signIn(fixture, "2", "ann@example.com", verified: true)
        else {
            Issue.record("the provider's user is another one")
            return
        }
    }

    @Test("an account with a proven address keeps its password beside the provider")
    func join() throws {
        let fixture = try AccountsFixture()
        let ann = try fixture.signUp("ann@example.com")
        var change = UserChange()
        change.emailVerified = true
        _ = try fixture.accounts.update(.user(ann.user.id), change, in: fixture.realm)
        let joined = try signedIn(signIn(fixture, "1", "ann@example.com", verified: true))
        #expect(joined.user.id == ann.user.id)
        _ = try fixture.signIn("ann@example.com")
        _ = try fixture.accounts.refresh(ann.refreshToken)
    }

    @Test("an address that the provider has not verified opens nothing")
    func confirmation() throws {
        let fixture = try AccountsFixture()
        let ann = try fixture.signUp("ann@example.com")
        guard case .needsConfirmation(let providers) = try signIn(fixture, "1", "ann@example.com") else {
            Issue.record("somebody got in")
            return
        }
        #expect(providers == ["password"])
        #expect(try fixture.user(ann.user.id).links.isEmpty)
        fixture.accounts.hidesEmails = true
        guard case .needsConfirmation(providers: []) = try signIn(fixture, "1", "ann@example.com") else {
            Issue.record("it is told how somebody signs in")
            return
        }
    }

    @Test("linking: nobody else's provider, nobody else's address; unlinking leaves the rest")
    func link() throws {
        let fixture = try AccountsFixture()
        let guest = try fixture.signUp()
        let ann = try signedIn(signIn(fixture, "1", "ann@example.com", verified: true))
        expectRefusal(.federatedUserAlreadyLinked) { try signIn(fixture, "1", linkingTo: guest.idToken) }
        expectRefusal(.emailExists) { try signIn(fixture, "2", "ann@example.com", linkingTo: guest.idToken) }
        let linked = try signedIn(signIn(fixture, "2", "guest@example.com", linkingTo: guest.idToken))
        #expect(linked.user.id == guest.user.id)
        #expect(linked.user.email == "guest@example.com")
        let more = try signedIn(
            signIn(fixture, "f1", "ann@example.com", provider: "facebook.com", linkingTo: ann.idToken))
        #expect(more.user.providers.map(\.provider) == ["google.com", "facebook.com"])
        var change = UserChange()
        change.deletedProviders = ["google.com"]
        let left = try fixture.accounts.update(.idToken(ann.idToken), change, in: fixture.realm)
        #expect(left.user.providers.map(\.provider) == ["facebook.com"])
        // Unlinking does not end the session.
        #expect(left.signIn == nil)
        _ = try fixture.accounts.refresh(ann.refreshToken)
    }
}
