import HearthJSONValues
import Glibc
import HearthIdentity
import HearthJSONTree
import HearthJSONWebTokens
import Synchronization
import HearthTestSupport
import Testing

@Suite("Accounts") struct AccountsTests {
    @Test("who signs up can sign in, whatever the case of the address, and nobody else gets the address")
    func signUp() throws {
        let fixture = try AccountsFixture()
        let made = try fixture.signUp("Ann@Example.com")
        #expect(made.isNew)
        #expect(made.user.email == "ann@example.com")
        #expect(made.user.id.utf8.count == 28)
        expectRefusal(.emailExists) { try fixture.signUp("ANN@example.com") }
        #expect(try fixture.signIn("aNN@example.com").user.id == made.user.id)
        expectRefusal(.invalidPassword) { try fixture.signIn("ann@example.com", "secret2") }
        expectRefusal(.emailNotFound) { try fixture.signIn("bob@example.com") }
    }

    @Test(
        "what is not an address, and what is no password",
        arguments: [
            ("", "secret1", AccountError.Code.invalidEmail), ("ann", "secret1", .invalidEmail),
            ("@b", "secret1", .invalidEmail), ("a@", "secret1", .invalidEmail), ("a@b@c", "secret1", .invalidEmail),
            ("a@b\r\nBcc: c@d", "secret1", .invalidEmail), ("a b@c", "secret1", .invalidEmail),
            ("a@b>,<c", "secret1", .invalidEmail), ("-oQ/tmp@b", "secret1", .invalidEmail),
            ("a\u{85}b@c", "secret1", .invalidEmail), ("a\u{202E}b@c", "secret1", .invalidEmail),
            ("a\u{2028}b@c", "secret1", .invalidEmail), ("a\0b@c", "secret1", .invalidEmail),
            ("a@b", "12345", .weakPassword), ("a@b", "", .weakPassword),
            ("a@b", String(repeating: "x", count: 4097), .weakPassword),
        ])
    func names(email: String, password: String, code: AccountError.Code) throws {
        let fixture = try AccountsFixture()
        expectRefusal(code) { try fixture.signUp(email, password) }
    }

    @Test("names and pictures that would make tokens long are refused, and left out where a provider says them")
    func longProfiles() throws {
        let fixture = try AccountsFixture()
        let ann = try fixture.signUp("ann@example.com").user
        for (name, url) in [(1025, 0), (0, 2049)] {
            var change = UserChange()
            change.displayName = String(repeating: "x", count: name)
            change.photoURL = String(repeating: "x", count: url)
            expectRefusal(.invalidProfileAttribute) {
                _ = try fixture.accounts.update(.user(ann.id), change, in: fixture.realm)
            }
        }
        var identity = ProviderIdentity(provider: "google.com", rawID: "1", profile: JSONObject([:]))
        identity.displayName = String(repeating: "x", count: 1025)
        identity.photoURL = "https://example.com/ann.png"
        let outcome = try fixture.accounts.signIn(
            identity, linkingTo: nil, createsAccount: true, in: fixture.realm)
        guard case .signedIn(let signIn, _) = outcome else {
            Issue.record("is not signed in")
            return
        }
        #expect(signIn.user.displayName == nil && signIn.user.photoURL == "https://example.com/ann.png")
    }

    @Test("protected addresses: an unknown user and a wrong password look alike, and a disabled user too")
    func protection() throws {
        let fixture = try AccountsFixture { $0.protectsEmails = true }
        let ann = try fixture.signUp("ann@example.com").user
        expectRefusal(.invalidLoginCredentials) { try fixture.signIn("ann@example.com", "wrong!") }
        expectRefusal(.invalidLoginCredentials) { try fixture.signIn("nobody@example.com") }
        var change = UserChange()
        change.isDisabled = true
        _ = try fixture.accounts.update(.user(ann.id), change, in: fixture.realm)
        expectRefusal(.invalidLoginCredentials) { try fixture.signIn("ann@example.com", "wrong!") }
        expectRefusal(.userDisabled) { try fixture.signIn("ann@example.com") }
        #expect(
            try fixture.accounts.issueCode(
                .resetPassword, for: .email("nobody@example.com"), newEmail: nil, in: fixture.realm
            ).issued == nil)
    }

    @Test("after too many wrong passwords the right one does not help until time has passed")
    func attempts() throws {
        let fixture = try AccountsFixture { $0.attemptsPerAccountMax = 3 }
        _ = try fixture.signUp("ann@example.com")
        for _ in 0..<2 { expectRefusal(.invalidPassword) { try fixture.signIn("ann@example.com", "wrong!") } }
        _ = try fixture.signIn("ann@example.com")
        for _ in 0..<3 { expectRefusal(.invalidPassword) { try fixture.signIn("ann@example.com", "wrong!") } }
        expectRefusal(.tooManyAttempts) { try fixture.signIn("ann@example.com") }
        // Who has no account is not told apart by this.
        for _ in 0..<3 { expectRefusal(.emailNotFound) { try fixture.signIn("bob@example.com") } }
        expectRefusal(.tooManyAttempts) { try fixture.signIn("bob@example.com") }
        fixture.clock.advance(seconds: 15 * 60)
        _ = try fixture.signIn("ann@example.com")
    }

    @Test("an address that makes too many attempts is stopped in production, kind by kind; others are not")
    func addresses() throws {
        let fixture = try AccountsFixture {
            $0.isDevelopment = false
            $0.attemptsPerAddressMax = 2
        }
        for kind in [Accounts.Attempt.newAccount, .signIn, .mail, .question] {
            for _ in 0..<2 { try fixture.accounts.admit(kind, from: "here") }
            expectRefusal(.tooManyAttempts) { try fixture.accounts.admit(kind, from: "here") }
            try fixture.accounts.admit(kind, from: "elsewhere")
        }
        fixture.clock.advance(seconds: 15 * 60)
        try fixture.accounts.admit(.signIn, from: "here")
        let development = try AccountsFixture { $0.attemptsPerAddressMax = 0 }
        try development.accounts.admit(.signIn, from: "here")
    }

    @Test("strangers who guess a password do not keep out who has signed in from a place before")
    func familiarAddresses() throws {
        let fixture = try AccountsFixture { $0.attemptsPerAccountMax = 3 }
        _ = try fixture.signUp("ann@example.com")
        _ = try fixture.signIn("ann@example.com", from: "home")
        for _ in 0..<3 {
            expectRefusal(.invalidPassword) { try fixture.signIn("ann@example.com", "wrong!", from: "afar") }
        }
        expectRefusal(.tooManyAttempts) { try fixture.signIn("ann@example.com", from: "afar") }
        expectRefusal(.tooManyAttempts) { try fixture.signIn("ann@example.com", from: "elsewhere") }
        _ = try fixture.signIn("ann@example.com", from: "home")
        // Neither does that help the strangers, nor is it without a limit itself.
        expectRefusal(.tooManyAttempts) { try fixture.signIn("ann@example.com", from: "afar") }
        for _ in 0..<3 {
            expectRefusal(.invalidPassword) { try fixture.signIn("ann@example.com", "wrong!", from: "home") }
        }
        expectRefusal(.tooManyAttempts) { try fixture.signIn("ann@example.com", from: "home") }
        // Another account is not theirs.
        _ = try fixture.signUp("bob@example.com")
        for _ in 0..<3 {
            expectRefusal(.invalidPassword) { try fixture.signIn("bob@example.com", "wrong!", from: "afar") }
        }
        expectRefusal(.tooManyAttempts) { try fixture.signIn("bob@example.com", from: "home") }
    }

    @Test("names are known until they end, and beyond a limit those are forgotten that end first")
    func expiringSet() {
        let set = ExpiringSet(countMax: 10)
        for index in 0..<10 { #expect(set.insertNew("n\(index)", until: Int64(100 + index), now: 0)) }
        #expect(!set.insertNew("n5", until: 200, now: 104))
        #expect(set.insertNew("n5", until: 200, now: 105))
        #expect(!set.contains("n9", now: 109))
        #expect(set.contains("n9", now: 108))
        set.insert("new", until: 300)
        #expect(!set.contains("n0", now: 1))
        #expect(!set.contains("n1", now: 1))
        #expect(set.contains("n2", now: 1))
        #expect(set.contains("new", now: 1))
    }

    @Test("sessions outlive the server; what was read from the file is of no use as a token")
    func restart() throws {
        let folder = TemporaryFolder()
        let (id, token): (String, [UInt8])
        do {
            let fixture = try AccountsFixture(in: folder)
            let signIn = try fixture.signUp("ann@example.com")
            (id, token) = (signIn.user.id, signIn.refreshToken)
        }
        let file = TemporaryFolder.contents(of: folder.path + "/accounts.sqlite")
        for secret in [token, Array("secret1".utf8)] {
            #expect(!file.indices.contains { file[$0...].starts(with: secret) })
        }
        var information = stat()
        #expect(stat(folder.path + "/accounts.sqlite", &information) == 0)
        #expect(information.st_mode & 0o077 == 0)
        let fixture = try AccountsFixture(in: folder)
        fixture.clock.advance(seconds: 3600)
        let (realm, renewed) = try fixture.accounts.refresh(token)
        #expect(realm == fixture.realm)
        #expect(renewed.user.id == id)
        #expect(renewed.refreshToken == token)
        // The time of the sign-in stays, that of the token does not.
        #expect(try fixture.claims(renewed)["auth_time"]?.integer == 1_700_000_000)
        #expect(try fixture.claims(renewed)["iat"]?.integer == 1_700_003_600)
        expectRefusal(.invalidRefreshToken) { try fixture.accounts.refresh(Array("guess".utf8)) }
    }

    @Test("claims of a custom token stay for the life of its session; those of the user change with the next token")
    func claims() throws {
        let fixture = try AccountsFixture()
        let text = #"{"uid":"u1","claims":{"role":"guest","a":1}}"#
        let first = try fixture.accounts.signIn(CustomToken(trusting: Array(text.utf8)), in: fixture.realm)
        #expect(first.isNew)
        var change = UserChange()
        change.claims = #"{"role":"editor","b":2}"#
        _ = try fixture.accounts.update(.user("u1"), change, in: fixture.realm)
        let claims = try fixture.claims(fixture.accounts.refresh(first.refreshToken).signIn)
        #expect(claims["role"]?.text == "guest")
        #expect(claims["a"]?.integer == 1)
        #expect(claims["b"]?.integer == 2)
        #expect(claims["firebase"]?.object?["sign_in_provider"]?.text == "custom")
        for (text, code) in [
            (#"{"sub":"x"}"#, AccountError.Code.forbiddenClaim), ("[]", .invalidClaims), ("{", .invalidClaims),
            (#"{"a":"\#(String(repeating: "x", count: 1000))"}"#, .claimsTooLarge),
        ] {
            change.claims = text
            expectRefusal(code, text) { try fixture.accounts.update(.user("u1"), change, in: fixture.realm) }
        }
    }

    @Test("an anonymous user who gets an address stays the same user")
    func upgrade() throws {
        let fixture = try AccountsFixture()
        let guest = try fixture.signUp()
        #expect(guest.user.isAnonymous)
        #expect(try fixture.claims(guest)["provider_id"]?.text == "anonymous")
        _ = try fixture.signUp("ann@example.com")
        var change = UserChange()
        change.email = "ann@example.com"
        change.password = "secret1"
        expectRefusal(.emailExists) { try fixture.accounts.update(.idToken(guest.idToken), change, in: fixture.realm) }
        change.email = "guest@example.com"
        let update = try fixture.accounts.update(.idToken(guest.idToken), change, in: fixture.realm)
        #expect(update.user.id == guest.user.id)
        #expect(update.recovery == nil)
        let claims = try fixture.claims(try #require(update.signIn))
        #expect(claims["firebase"]?.object?["sign_in_provider"]?.text == "password")
        #expect(try fixture.signIn("guest@example.com").user.id == guest.user.id)
        // The session from before has ended with the change.
        expectRefusal(.tokenExpired) { try fixture.accounts.refresh(guest.refreshToken) }
    }

    @Test("what ends sessions is told at once: a new password, a word of the administrator, disabling, deletion")
    func revocations() throws {
        let fixture = try AccountsFixture()
        let observer = Observer()
        fixture.accounts.observe { observer.add($0) }
        let user = try fixture.signUp("ann@example.com")
        let (realm, id) = (fixture.realm, user.user.id)
        #expect(fixture.state(of: user) == .valid)
        fixture.clock.advance(seconds: 10)
        var change = UserChange()
        change.validSince = fixture.clock.now / 1000 + 1_000_000
        let update = try fixture.accounts.update(.user(id), change, in: realm)
        // Nothing of the future is revoked.
        #expect(update.user.validSince == 1_700_000_010_001)
        #expect(fixture.state(of: user) == .revoked)
        expectRefusal(.tokenExpired) { try fixture.accounts.lookUp(user.idToken, in: realm) }
        expectRefusal(.tokenExpired) { try fixture.accounts.refresh(user.refreshToken) }
        let second = try fixture.signIn("ann@example.com")
        #expect(fixture.state(of: second) == .valid)
        change = UserChange()
        change.isDisabled = true
        _ = try fixture.accounts.update(.user(id), change, in: realm)
        _ = try fixture.accounts.update(.user(id), change, in: realm)
        #expect(fixture.state(of: second) == .disabled)
        expectRefusal(.userDisabled) { try fixture.accounts.lookUp(second.idToken, in: realm) }
        try fixture.accounts.delete(user: id, in: realm)
        #expect(fixture.state(of: second) == .noUser)
        expectRefusal(.userNotFound) { try fixture.accounts.lookUp(second.idToken, in: realm) }
        expectRefusal(.userNotFound) { try fixture.accounts.refresh(second.refreshToken) }
        // A user who gets the same id later is somebody else.
        var new = NewUser()
        new.id = id
        _ = try fixture.accounts.create(new, in: realm)
        expectRefusal(.tokenExpired) { try fixture.accounts.refresh(second.refreshToken) }
        #expect(
            observer.seen
                == [
                    Revocation(realm: realm, user: id, loss: .tokensBefore(1_700_000_010_001)),
                    Revocation(realm: realm, user: id, loss: .disabled),
                    Revocation(realm: realm, user: id, loss: .account),
                ])
    }

    @Test(
        "an import with another password ends the user's sessions, whatever its `validSince`",
        arguments: [0, nil] as [Int64?])
    func importedPassword(validSince: Int64?) throws {
        let fixture = try AccountsFixture()
        let observer = Observer()
        fixture.accounts.observe { observer.add($0) }
        let thief = try fixture.signUp("ann@example.com")
        let code = try #require(
            try fixture.accounts.issueCode(
                .resetPassword, for: .email("ann@example.com"), newEmail: nil, in: fixture.realm
            ).issued)
        fixture.clock.advance(seconds: 10)
        var user = User(id: thief.user.id, createdAt: thief.user.createdAt)
        user.email = "ann@example.com"
        user.validSince = validSince ?? fixture.clock.now / 1000 * 1000
        let entry = ImportedUser(user: user, plainPassword: "secret2")
        #expect(try fixture.accounts.importUsers([entry], overwrites: true, in: fixture.realm).isEmpty)
        expectRefusal(.tokenExpired) { try fixture.accounts.refresh(thief.refreshToken) }
        expectRefusal(.invalidCode) { try fixture.accounts.inspectCode(code.text, in: fixture.realm) }
        #expect(fixture.state(of: thief) == .revoked)
        let own = try fixture.signIn("ann@example.com", "secret2")
        #expect(fixture.state(of: own) == .valid)
        let revocation = Revocation(
            realm: fixture.realm, user: user.id, loss: .tokensBefore(fixture.clock.now + 1))
        #expect(observer.seen == [revocation])

        // The same once more, as from an export, which has whole seconds, is no change.
        var same = try fixture.user(user.id)
        same.validSince = same.validSince / 1000 * 1000
        same.displayName = "Ann"
        #expect(
            try fixture.accounts.importUsers([ImportedUser(user: same)], overwrites: true, in: fixture.realm).isEmpty)
        #expect(fixture.state(of: own) == .valid)
        #expect(fixture.state(of: thief) == .revoked)
        _ = try fixture.accounts.refresh(own.refreshToken)
        #expect(observer.seen == [revocation])
    }

    @Test("a revocation ends what was issued in the same second, and not what is issued after it")
    func revocationWithinASecond() throws {
        let fixture = try AccountsFixture()
        let realm = fixture.realm
        let first = try fixture.signUp("ann@example.com")
        fixture.clock.advance(milliseconds: 400)
        let second = try fixture.signIn("ann@example.com")
        fixture.clock.advance(milliseconds: 400)
        var change = UserChange()
        change.validSince = fixture.clock.now / 1000
        _ = try fixture.accounts.update(.user(first.user.id), change, in: realm)
        let third = try fixture.signIn("ann@example.com")
        #expect([first, second, third].map { fixture.state(of: $0) } == [.revoked, .revoked, .valid])
        expectRefusal(.tokenExpired) { try fixture.accounts.lookUp(second.idToken, in: realm) }
        #expect(try fixture.claims(second)["iat"] == fixture.claims(third)["iat"])
        // The user's own change of the password gives a token that holds.
        change = UserChange()
        change.password = "secret2"
        let own = try fixture.accounts.update(.idToken(third.idToken), change, in: realm)
        #expect(fixture.state(of: third) == .revoked)
        #expect(fixture.state(of: try #require(own.signIn)) == .valid)
        // Times that are long gone are taken as they are.
        change = UserChange()
        change.validSince = fixture.clock.now / 1000 - 100
        #expect(
            try fixture.accounts.update(.user(first.user.id), change, in: realm).user.validSince
                == change.validSince.map { $0 * 1000 })
    }

    private final class Observer: Sendable {
        private let all = Mutex<[Revocation]>([])

        var seen: [Revocation] { all.withLock { $0 } }

        func add(_ revocations: [Revocation]) { all.withLock { $0 += revocations } }
    }

    @Test("what fails undoes all of itself, and nothing else of the same commit")
    func isolation() throws {
        let fixture = try AccountsFixture()
        let observer = Observer()
        fixture.accounts.observe { observer.add($0) }
        let ann = try fixture.signUp("ann@example.com")
        _ = try fixture.signUp("bob@example.com")
        var change = UserChange()
        change.email = "bob@example.com"
        change.displayName = "Ann"
        change.validSince = 1_700_000_000
        expectRefusal(.emailExists) { try fixture.accounts.update(.user(ann.user.id), change, in: fixture.realm) }
        let user = try fixture.accounts.lookUp([.id(ann.user.id)], in: fixture.realm).first
        #expect(user?.displayName == nil)
        #expect(observer.seen.isEmpty)
        #expect(try fixture.accounts.refresh(ann.refreshToken).signIn.user.id == ann.user.id)
    }

    @Test("realms know nothing of each other")
    func realms() throws {
        let fixture = try AccountsFixture()
        let tenant = try fixture.accounts.realm(project: nil, tenant: "t-1")
        let ann = try fixture.signUp("ann@example.com")
        var new = NewUser()
        new.email = "ann@example.com"
        new.password = "secret1"
        let other = try fixture.accounts.signUp(new, in: tenant)
        #expect(other.user.id != ann.user.id)
        #expect(try fixture.claims(other)["firebase"]?.object?["tenant"]?.text == "t-1")
        #expect(fixture.accounts.tenant(of: other.idToken) == "t-1")
        expectRefusal(.invalidIDToken) { try fixture.accounts.lookUp(other.idToken, in: fixture.realm) }
        #expect(try fixture.accounts.refresh(other.refreshToken).realm == tenant)
        try fixture.accounts.deleteAll(in: fixture.realm)
        #expect(try fixture.accounts.userCount(in: fixture.realm) == 0)
        #expect(try fixture.accounts.lookUp(other.idToken, in: tenant).email == "ann@example.com")
        let strict = try AccountsFixture { $0.isDevelopment = false }
        expectRefusal(.invalidProjectID) { try strict.accounts.realm(project: "other", tenant: nil) }
        expectRefusal(.tenantNotFound) { try strict.accounts.realm(project: nil, tenant: "t-1") }
    }

    @Test("of a user's sessions the oldest end when there are too many")
    func manySessions() throws {
        let fixture = try AccountsFixture()
        let text = Array(#"{"uid":"u1"}"#.utf8)
        var tokens: [[UInt8]] = []
        for _ in 0..<101 {
            fixture.clock.advance(seconds: 1)
            tokens.append(try fixture.accounts.signIn(CustomToken(trusting: text), in: fixture.realm).refreshToken)
        }
        expectRefusal(.invalidRefreshToken) { try fixture.accounts.refresh(tokens[0]) }
        for token in tokens[1...] { _ = try fixture.accounts.refresh(token) }
    }

    @Test("keys of attempts are forgotten when there are too many of them, those that end first before others")
    func limiter() {
        let limiter = AttemptLimiter(windowMilliseconds: 1000, keysMax: 10)
        for index in 0..<10 { #expect(limiter.admit("k\(index)", max: 1, now: Int64(index))) }
        #expect(!limiter.admit("k9", max: 1, now: 20))
        #expect(limiter.admit("new", max: 1, now: 20))
        #expect(!limiter.admit("k9", max: 1, now: 20))
        #expect(limiter.admit("k0", max: 1, now: 20))
        #expect(limiter.admit("k9", max: 1, now: 1009))
    }

    @Test("a clock that was set back keeps nobody out for longer than a window")
    func clockSetBack() {
        let limiter = AttemptLimiter(windowMilliseconds: 1000)
        #expect(limiter.admit("k", max: 1, now: 1_000_000))
        #expect(!limiter.admit("k", max: 1, now: 1_000_500))
        #expect(limiter.admit("k", max: 1, now: 5000))
        #expect(!limiter.admit("k", max: 1, now: 5500))
    }
}

extension AccountsFixture {
    /// The data of a session.
    func state(of signIn: SignIn) -> SessionState {
        let state = Slot()
        let token = try? JSONWebToken(parsing: signIn.idToken)
        let issuedAt = (token?.claims["iat"]?.integer ?? 0) * 1000 + (token?.milliseconds ?? 0)
        accounts.checkSession(realm, user: signIn.user.id, issuedAt: issuedAt) { found in
            state.value.withLock { $0 = found }
        }
        // Later requests are answered later.
        _ = try? accounts.userCount(in: realm)
        return state.value.withLock { $0 } ?? .unknown
    }

    private final class Slot: Sendable {
        let value = Mutex<SessionState?>(nil)
    }
}
