import HearthIdentity
import HearthJSONValues
import HearthTestSupport
import Testing

@Suite("One-time codes") struct OneTimeCodeTests {
    private func issue(
        _ fixture: AccountsFixture, _ kind: OneTimeCode.Kind, for subject: Accounts.CodeSubject, newEmail: String? = nil
    ) throws -> IssuedCode {
        try #require(
            try fixture.accounts.issueCode(kind, for: subject, newEmail: newEmail, in: fixture.realm).issued)
    }

    @Test("a reset sets the password once, verifies the address, ends sessions and takes away other ways in")
    func reset() throws {
        let fixture = try AccountsFixture()
        let user = try fixture.signUp("ann@example.com")
        var change = UserChange()
        change.link = ProviderLink(provider: "google.com", rawID: "1")
        _ = try fixture.accounts.update(.user(user.user.id), change, in: fixture.realm)
        let code = try issue(fixture, .resetPassword, for: .email("Ann@example.com"))
        #expect(code.text.utf8.count == 54)
        let details = try fixture.accounts.inspectCode(code.text, in: fixture.realm)
        #expect(details.kind == .resetPassword)
        #expect(details.email == "ann@example.com")
        expectRefusal(.weakPassword) { try fixture.accounts.resetPassword(code.text, to: "short", in: fixture.realm) }
        expectRefusal(.invalidCode) { try fixture.accounts.apply(code: code.text, in: fixture.realm) }
        expectRefusal(.invalidCode) {
            try fixture.accounts.resetPassword(code.text, to: "secret2", in: Realm(project: "other"))
        }
        _ = try fixture.accounts.resetPassword(code.text, to: "secret2", in: fixture.realm)
        expectRefusal(.invalidCode) { try fixture.accounts.resetPassword(code.text, to: "secret3", in: fixture.realm) }
        expectRefusal(.invalidPassword) { try fixture.signIn("ann@example.com") }
        let after = try fixture.signIn("ann@example.com", "secret2").user
        #expect(after.emailVerified)
        #expect(after.links.isEmpty)
        expectRefusal(.tokenExpired) { try fixture.accounts.refresh(user.refreshToken) }
    }

    @Test(
        "codes end after an hour (password), six hours (sign-in) and three days (address)",
        arguments: [
            (.resetPassword, 3600), (.emailSignIn, 6 * 3600), (.verifyEmail, 3 * 86_400),
            (.verifyAndChangeEmail, 3 * 86_400),
        ] as [(OneTimeCode.Kind, Int64)])
    func lifetimes(kind: OneTimeCode.Kind, seconds: Int64) throws {
        let fixture = try AccountsFixture()
        let user = try fixture.signUp("ann@example.com")
        let needsToken = kind == .verifyEmail || kind == .verifyAndChangeEmail
        let code = try issue(
            fixture, kind, for: needsToken ? .idToken(user.idToken) : .email("ann@example.com"),
            newEmail: kind == .verifyAndChangeEmail ? "new@example.com" : nil)
        fixture.clock.advance(seconds: seconds - 1)
        #expect(try fixture.accounts.inspectCode(code.text, in: fixture.realm).kind == kind)
        fixture.clock.advance(seconds: 1)
        expectRefusal(.expiredCode) { try fixture.accounts.inspectCode(code.text, in: fixture.realm) }
    }

    @Test("a newer code for a password replaces an older one, and ends after an hour")
    func ends() throws {
        let fixture = try AccountsFixture()
        _ = try fixture.signUp("ann@example.com")
        let first = try issue(fixture, .resetPassword, for: .email("ann@example.com"))
        let second = try issue(fixture, .resetPassword, for: .email("ann@example.com"))
        expectRefusal(.invalidCode) { try fixture.accounts.inspectCode(first.text, in: fixture.realm) }
        fixture.clock.advance(seconds: 3599)
        _ = try fixture.accounts.inspectCode(second.text, in: fixture.realm)
        fixture.clock.advance(seconds: 1)
        expectRefusal(.expiredCode) {
            try fixture.accounts.resetPassword(second.text, to: "secret2", in: fixture.realm)
        }
        expectRefusal(.missingCode) { try fixture.accounts.inspectCode(nil, in: fixture.realm) }
    }

    @Test("an address is verified by the code that was sent there, and no more once it was changed")
    func verify() throws {
        let fixture = try AccountsFixture()
        let user = try fixture.signUp("ann@example.com")
        let code = try issue(fixture, .verifyEmail, for: .idToken(user.idToken))
        let update = try fixture.accounts.apply(code: code.text, in: fixture.realm)
        #expect(update.user.emailVerified)
        // The link signs nobody in. The session that asked for it learns by its next token.
        #expect(update.signIn == nil)
        let renewed = try fixture.accounts.refresh(user.refreshToken).signIn
        #expect(try fixture.claims(renewed)["email_verified"]?.bool == true)
        let late = try issue(fixture, .verifyEmail, for: .idToken(user.idToken))
        var change = UserChange()
        change.email = "ann2@example.com"
        _ = try fixture.accounts.update(.idToken(user.idToken), change, in: fixture.realm)
        expectRefusal(.invalidCode) { try fixture.accounts.apply(code: late.text, in: fixture.realm) }
    }

    @Test("a changed address is not verified, and its former owner can have it back")
    func recover() throws {
        let fixture = try AccountsFixture()
        let user = try fixture.signUp("ann@example.com")
        var change = UserChange()
        change.email = "thief@example.com"
        let update = try fixture.accounts.update(.idToken(user.idToken), change, in: fixture.realm)
        #expect(update.emailChanged)
        #expect(update.user.emailVerified == false)
        #expect(update.user.initialEmail == "ann@example.com")
        let recovery = try #require(update.recovery)
        #expect(recovery.code.email == "ann@example.com")
        let back = try fixture.accounts.apply(code: recovery.text, in: fixture.realm)
        #expect(back.user.email == "ann@example.com")
        expectRefusal(.tokenExpired) { try fixture.accounts.refresh(try #require(update.signIn).refreshToken) }
    }

    @Test("who got an address back keeps it: ways back that were sent later are void, earlier ones are not")
    func recoverForGood() throws {
        let fixture = try AccountsFixture()
        let user = try fixture.signUp("ann@example.com")
        var token = user.idToken
        func change(to email: String) throws -> String {
            var change = UserChange()
            change.email = email
            let update = try fixture.accounts.update(.idToken(token), change, in: fixture.realm)
            token = try #require(update.signIn).idToken
            fixture.clock.advance(seconds: 1)
            return try #require(update.recovery).text
        }
        let first = try change(to: "ann2@example.com")
        let second = try change(to: "thief@example.com")
        let third = try change(to: "thief2@example.com")
        _ = try fixture.accounts.apply(code: second, in: fixture.realm)
        expectRefusal(.invalidCode) { try fixture.accounts.apply(code: third, in: fixture.realm) }
        let back = try fixture.accounts.apply(code: first, in: fixture.realm)
        #expect(back.user.email == "ann@example.com")
    }

    @Test("an address that an administrator gives back is kept", arguments: [false, true])
    func givenBack(byImport: Bool) throws {
        let fixture = try AccountsFixture()
        let user = try fixture.signUp("ann@example.com")
        var token = user.idToken
        var codes: [String] = []
        for email in ["thief@example.com", "thief2@example.com"] {
            var change = UserChange()
            change.email = email
            let update = try fixture.accounts.update(.idToken(token), change, in: fixture.realm)
            token = try #require(update.signIn).idToken
            codes.append(try #require(update.recovery).text)
            fixture.clock.advance(seconds: 1)
        }
        if byImport {
            var restored = user.user
            restored.email = "ann@example.com"
            #expect(
                try fixture.accounts.importUsers([ImportedUser(user: restored)], overwrites: true, in: fixture.realm)
                    .isEmpty)
        } else {
            var change = UserChange()
            change.email = "ann@example.com"
            let update = try fixture.accounts.update(.user(user.user.id), change, in: fixture.realm)
            #expect(update.user.email == "ann@example.com")
            #expect(update.recovery == nil)
        }
        for code in codes { expectRefusal(.invalidCode) { try fixture.accounts.apply(code: code, in: fixture.realm) } }
    }

    @Test("with protected addresses an address is changed only by the code that was sent to the new one")
    func verifyAndChange() throws {
        let fixture = try AccountsFixture { $0.protectsEmails = true }
        let user = try fixture.signUp("ann@example.com")
        var change = UserChange()
        change.email = "ann2@example.com"
        expectRefusal(.operationNotAllowed) {
            try fixture.accounts.update(.idToken(user.idToken), change, in: fixture.realm)
        }
        let code = try issue(
            fixture, .verifyAndChangeEmail, for: .idToken(user.idToken), newEmail: "Ann2@example.com")
        #expect(code.code.newEmail == "ann2@example.com")
        let update = try fixture.accounts.apply(code: code.text, in: fixture.realm)
        #expect(update.user.email == "ann2@example.com")
        #expect(update.user.emailVerified)
        expectRefusal(.missingNewEmail) {
            try issue(fixture, .verifyAndChangeEmail, for: .idToken(user.idToken))
        }
    }

    @Test("a link signs in the reader of the mail, and shuts out who registered the address without owning it")
    func emailLink() throws {
        let fixture = try AccountsFixture()
        let squatter = try fixture.signUp("ann@example.com")
        let code = try issue(fixture, .emailSignIn, for: .email("ann@example.com"))
        expectRefusal(.invalidEmail) {
            try fixture.accounts.signIn(email: "bob@example.com", code: code.text, linkingTo: nil, in: fixture.realm)
        }
        let owner = try fixture.accounts.signIn(
            email: "Ann@example.com", code: code.text, linkingTo: nil, in: fixture.realm)
        #expect(owner.user.id == squatter.user.id)
        #expect(owner.user.emailVerified)
        expectRefusal(.invalidPassword) { try fixture.signIn("ann@example.com") }
        expectRefusal(.tokenExpired) { try fixture.accounts.refresh(squatter.refreshToken) }
        expectRefusal(.invalidCode) {
            try fixture.accounts.signIn(email: "ann@example.com", code: code.text, linkingTo: nil, in: fixture.realm)
        }
        let guest = try fixture.signUp()
        let other = try issue(fixture, .emailSignIn, for: .email("new@example.com"))
        let linked = try fixture.accounts.signIn(
            email: "new@example.com", code: other.text, linkingTo: guest.idToken, in: fixture.realm)
        #expect(linked.user.id == guest.user.id)
    }

    @Test("a link for an address without an account is void after a newer one, and when tokens of its account are")
    func olderLinks() throws {
        let fixture = try AccountsFixture()
        let email = "new@example.com"
        func link() throws -> String { try issue(fixture, .emailSignIn, for: .email(email)).text }
        func use(_ code: String) throws -> SignIn {
            try fixture.accounts.signIn(email: email, code: code, linkingTo: nil, in: fixture.realm)
        }
        let codes = [try link(), try link()]
        expectRefusal(.invalidCode) { try use(codes[0]) }
        let user = try use(codes[1]).user

        try fixture.accounts.delete(user: user.id, in: fixture.realm)
        let last = try link()
        let owner = try fixture.signUp(email)
        fixture.clock.advance(seconds: 2)
        var change = UserChange()
        change.validSince = fixture.clock.now / 1000
        _ = try fixture.accounts.update(.user(owner.user.id), change, in: fixture.realm)
        expectRefusal(.invalidCode) { try use(last) }
    }

    @Test("mails to one account are limited in production, not for administrators")
    func limits() throws {
        let fixture = try AccountsFixture {
            $0.isDevelopment = false
            $0.mailsPerAccountMax = 1
        }
        _ = try fixture.signUp("ann@example.com")
        _ = try issue(fixture, .resetPassword, for: .email("ann@example.com"))
        expectRefusal(.resetPasswordExceedLimit) { try issue(fixture, .resetPassword, for: .email("ann@example.com")) }
        _ = try fixture.accounts.issueCode(
            .resetPassword, for: .email("ann@example.com"), newEmail: nil, in: fixture.realm, isAdmin: true)
    }
}
