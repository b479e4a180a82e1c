import HearthServerSupport
import HearthClient
import HearthServer
import Testing

@Suite("Signing in", .timeLimit(.minutes(15)))
struct AuthTests {
    private let server: AccountServer
    private let auth: Auth

    init() throws {
        server = try AccountServer()
        auth = try server.auth()
    }

    private func code(_ work: () async throws -> Void) async -> AuthErrorCode? {
        do {
            try await work()
            return nil
        } catch {
            return (error as? AuthError)?.code
        }
    }

    @Test("a new user has an account, a profile and a place in the database, until signed out")
    func signUp() async throws {
        let database = try server.client(auth)
        #expect(auth.currentUser == nil)
        #expect(try await database.access("x") == .denied)
        let result = try await auth.createUser(withEmail: "Ann@Example.com", password: "secret1")
        let user = result.user
        #expect(result.additionalUserInfo?.isNewUser == true)
        #expect(result.additionalUserInfo?.providerID == "password")
        #expect(auth.currentUser == user)
        #expect(user.email == "ann@example.com")
        #expect(!user.isEmailVerified)
        #expect(!user.isAnonymous)
        #expect(user.displayName == nil)
        #expect(user.providerData.map(\.providerID) == ["password"])
        #expect((user.metadata.creationDate ?? 0) > 1_600_000_000_000)
        #expect(try await database.access(user.uid) == .allowed)
        #expect(try await database.access("x") == .denied)

        let request = user.createProfileChangeRequest()
        request.displayName = "Ann"
        request.photoURL = "https://example.com/ann.png"
        try await request.commitChanges()
        #expect(user.displayName == "Ann")
        #expect(user.photoURL == "https://example.com/ann.png")
        try await user.updateProfile(photoURL: "")
        #expect(user.displayName == "Ann")
        #expect(user.photoURL == nil)

        try auth.signOut()
        #expect(auth.currentUser == nil)
        #expect(try await database.access(user.uid) == .denied)
        let again = try await auth.signIn(withEmail: "ann@example.com", password: "secret1")
        #expect(again.additionalUserInfo?.isNewUser == false)
        #expect(again.user.displayName == "Ann")
        #expect(try await database.access(user.uid) == .allowed)
    }

    @Test("what cannot be is said with its code")
    func refusals() async throws {
        try await auth.createUser(withEmail: "ann@example.com", password: "secret1")
        let cases: [(AuthErrorCode, () async throws -> Void)] = [
            (.emailAlreadyInUse, { try await auth.createUser(withEmail: "ANN@example.com", password: "secret2") }),
            (.weakPassword, { try await auth.createUser(withEmail: "bob@example.com", password: "1") }),
            (.invalidEmail, { try await auth.createUser(withEmail: "bob", password: "secret1") }),
            (.wrongPassword, { try await auth.signIn(withEmail: "ann@example.com", password: "secret2") }),
            (.userNotFound, { try await auth.signIn(withEmail: "bob@example.com", password: "secret1") }),
            (.missingPassword, { try await auth.signIn(withEmail: "ann@example.com", password: "") }),
            (.invalidCustomToken, { try await auth.signIn(withCustomToken: "x") }),
            (.userNotFound, { try await auth.sendPasswordReset(withEmail: "bob@example.com") }),
            (.invalidActionCode, { _ = try await auth.checkActionCode("x") }),
        ]
        for (expected, work) in cases { #expect(await code(work) == expected) }
        #expect(auth.currentUser?.email == "ann@example.com")
        let invalid = #expect(throws: AuthError.self) { try Auth(url: "ftp://x") }
        #expect(invalid?.code == .invalidURL)
        #expect(try Auth.auth(url: "http://127.0.0.1:9") === Auth.auth(url: "http://127.0.0.1:9"))
        let nowhere = try Auth.auth(url: "http://127.0.0.1:9")
        #expect(await code { try await nowhere.signInAnonymously() } == .networkError)
        let other = try server.auth { $0.projectID = "other" }
        #expect(await code { try await other.signInAnonymously() } == .invalidUserToken)
    }

    @Test("in production nobody learns which of address and password is wrong")
    func production() async throws {
        let server = try AccountServer(isDevelopment: false)
        let auth = try server.auth()
        let database = try server.client(auth)
        let user = try await auth.createUser(withEmail: "ann@example.com", password: "secret1").user
        #expect(try await database.access(user.uid) == .allowed)
        let result = try await user.getIDTokenResult()
        #expect(result.claims["user_id"] == .string(user.uid))
        #expect(result.signInProvider == "password")
        #expect(result.expirationDate - result.issuedAtDate == 3_600_000)
        for (email, password) in [("ann@example.com", "secret2"), ("bob@example.com", "secret1")] {
            #expect(await code { try await auth.signIn(withEmail: email, password: password) } == .invalidCredential)
        }
        #expect(await code { try await user.updateEmail(to: "new@example.com") } == .operationNotAllowed)
    }

    @Test("over TLS only an authority that is trusted is talked to")
    func secure() async throws {
        let folder = try TestFolder()
        let certificate = try folder.write(FixedCertificate.certificate, as: "certificate.pem")
        let key = try folder.write(FixedCertificate.key, as: "key.pem")
        let server = try AccountServer(tls: .init(certificate: certificate, key: key))
        let auth = try server.auth { $0.certificateAuthorityFile = certificate }
        let user = try await auth.signInAnonymously().user
        let database = try server.database.client {
            $0.auth = auth
            $0.certificateAuthorityFile = certificate
        }
        #expect(try await database.access(user.uid) == .allowed)
        let wary = try server.auth()
        let error = await #expect(throws: AuthError.self) { try await wary.signInAnonymously() }
        #expect(error?.code == .networkError)
        #expect(error?.message.contains("AuthOptions.certificateAuthorityFile names the authority") == true)
        let unreadable = #expect(throws: AuthError.self) {
            try server.auth { $0.certificateAuthorityFile = "/nowhere" }
        }
        #expect(unreadable?.code == .invalidURL)
        #expect(unreadable?.message.contains("cannot read /nowhere: No such file or directory") == true)
    }

    @Test("a server that speaks TLS, or does not, while its URL says otherwise, is told with the right URL")
    func scheme() async throws {
        let folder = try TestFolder()
        let certificate = try folder.write(FixedCertificate.certificate, as: "certificate.pem")
        let key = try folder.write(FixedCertificate.key, as: "key.pem")
        let secure = try AccountServer(tls: .init(certificate: certificate, key: key)).database
        let plain = try AccountServer().database
        for (server, wrong, right) in [(secure, "ws", "wss"), (plain, "wss", "ws")] {
            let auth = try Auth(url: "\(wrong)://\(server.server.address)", options: .patient)
            let error = await #expect(throws: AuthError.self) { try await auth.signInAnonymously() }
            #expect(error?.code == .networkError)
            #expect(
                error?.message.contains("its URL is \(right)://\(server.server.address)") == true, "\(error as Any)")
        }
    }

    @Test("a listener hears of each user once, a listener for tokens of each token")
    func listening() async throws {
        let log = EventLog()
        let handle = auth.addStateDidChangeListener { _, user in log.add("user \(user?.email ?? "-")") }
        #expect(await log.next() == "user -")
        try await auth.createUser(withEmail: "a@example.com", password: "secret1")
        #expect(await log.next() == "user a@example.com")
        _ = try await auth.currentUser?.getIDToken(forcingRefresh: true)
        try await auth.signIn(withEmail: "a@example.com", password: "secret1")
        try await auth.createUser(withEmail: "b@example.com", password: "secret1")
        #expect(await log.next() == "user b@example.com")
        let tokens = auth.addIDTokenDidChangeListener { _, user in log.add("token \(user?.email ?? "-")") }
        #expect(await log.next() == "token b@example.com")
        _ = try await auth.currentUser?.getIDToken(forcingRefresh: true)
        #expect(await log.next() == "token b@example.com")
        auth.removeIDTokenDidChangeListener(tokens)
        try auth.signOut()
        #expect(await log.next() == "user -")
        auth.removeStateDidChangeListener(handle)
        try await auth.signInAnonymously()
        log.add("end")
        #expect(await log.next() == "end")
        var seen: [Bool] = []
        for await user in auth.stateChanges {
            seen.append(user != nil)
            if user == nil { break }
            try auth.signOut()
        }
        #expect(seen == [true, false])
    }

    @Test("an anonymous user who gets an account stays the same")
    func anonymous() async throws {
        let database = try server.client(auth)
        let result = try await auth.signInAnonymously()
        let user = result.user
        #expect(user.isAnonymous)
        #expect(result.additionalUserInfo?.isNewUser == true)
        #expect(try await auth.signInAnonymously().user == user)
        #expect(try await database.access(user.uid) == .allowed)
        let credential = EmailAuthProvider.credential(withEmail: "ann@example.com", password: "secret1")
        #expect(try await user.link(with: credential).user == user)
        #expect(!user.isAnonymous)
        #expect(user.email == "ann@example.com")
        #expect(await code { try await user.link(with: credential) } == .providerAlreadyLinked)
        #expect(try await database.access(user.uid) == .allowed)
        try auth.signOut()
        #expect(try await auth.signIn(with: credential).user.uid == user.uid)
    }

    @Test("federated: signs in, links, is another's, is taken away")
    func federated() async throws {
        func google(_ subject: String, _ email: String) -> AuthCredential {
            GoogleAuthProvider.credential(
                withIDToken: #"{"sub":"\#(subject)","email":"\#(email)","email_verified":true,"name":"Ann & Co"}"#)
        }
        let database = try server.client(auth)
        let result = try await auth.signIn(with: google("g1", "ann@example.com"))
        #expect(result.additionalUserInfo?.isNewUser == true)
        #expect(result.additionalUserInfo?.providerID == "google.com")
        #expect(result.additionalUserInfo?.profile?["id"] == "g1")
        #expect(result.user.displayName == "Ann & Co")
        #expect(result.user.isEmailVerified)
        #expect(try await database.access(result.user.uid) == .allowed)
        #expect(
            try await auth.signIn(with: google("g1", "ann@example.com")).additionalUserInfo?.isNewUser == false)
        let bob = try await auth.createUser(withEmail: "bob@example.com", password: "secret1").user
        #expect(await code { try await bob.link(with: google("g1", "ann@example.com")) } == .credentialAlreadyInUse)
        try await bob.link(with: google("g2", "bob@example.com"))
        #expect(Set(bob.providerData.map(\.providerID)) == ["password", "google.com"])
        #expect(await code { try await bob.reauthenticate(with: google("g1", "ann@example.com")) } == .userMismatch)
        #expect(await code { try await bob.reauthenticate(with: google("g3", "x@example.com")) } == .userMismatch)
        try await bob.reauthenticate(with: google("g2", "bob@example.com"))
        try await bob.unlink(fromProvider: "google.com")
        #expect(bob.providerData.map(\.providerID) == ["password"])
        #expect(await code { try await bob.unlink(fromProvider: "google.com") } == .noSuchProvider)
        #expect(try await database.access(bob.uid) == .allowed)
        let campus = OAuthProvider.credential(
            withProviderID: "oidc.campus", idToken: #"{"sub":"c1"}"#, rawNonce: "n", accessToken: "a")
        #expect(try await auth.signIn(with: campus).user.providerData.map(\.providerID) == ["oidc.campus"])
    }

    @Test("a custom token names the user and the claims, which last")
    func customToken() async throws {
        let database = try server.client(auth)
        let user = try await auth.signIn(withCustomToken: #"{"uid":"robot","claims":{"level":3}}"#).user
        #expect(user.uid == "robot")
        #expect(!user.isAnonymous)
        #expect(try await database.access("robot") == .allowed)
        #expect(try await user.getIDTokenResult(forcingRefresh: true).claims["level"] == 3)
    }

    @Test("codes of mails: a new password, a proven address, a new address, a sign-in")
    func codes() async throws {
        let database = try server.client(auth)
        let user = try await auth.createUser(withEmail: "ann@example.com", password: "secret1").user
        let elsewhere = try server.auth()
        try await elsewhere.signIn(withEmail: "ann@example.com", password: "secret1")

        try await user.sendEmailVerification()
        let verification = try server.lastCode()
        #expect(try await auth.checkActionCode(verification).operation == .verifyEmail)
        #expect(await code { try await auth.verifyPasswordResetCode(verification) } == .invalidActionCode)
        try await auth.applyActionCode(verification)
        try await user.reload()
        #expect(user.isEmailVerified)
        #expect(await code { try await auth.applyActionCode(verification) } == .invalidActionCode)

        try await auth.sendPasswordReset(withEmail: "ann@example.com")
        let reset = try server.lastCode()
        #expect(try await auth.verifyPasswordResetCode(reset) == "ann@example.com")
        #expect(
            await code { try await auth.confirmPasswordReset(withCode: reset, newPassword: "x") } == .weakPassword)
        try await waitForNextSecond()
        try await auth.confirmPasswordReset(withCode: reset, newPassword: "secret2")
        // All sessions end with the old password.
        await wait(for: auth, signedIn: false)
        #expect(auth.sessionEndError?.code == .userTokenExpired)
        #expect(await code { try await elsewhere.currentUser?.reload() } == .userTokenExpired)
        #expect(elsewhere.currentUser == nil)
        #expect(
            await code { try await auth.signIn(withEmail: "ann@example.com", password: "secret1") } == .wrongPassword)
        try await auth.signIn(withEmail: "ann@example.com", password: "secret2")
        #expect(auth.sessionEndError == nil)
        #expect(try await database.access(user.uid) == .allowed)

        try await auth.currentUser?.sendEmailVerification(beforeUpdatingEmail: "new@example.com")
        let change = try server.lastCode()
        let info = try await auth.checkActionCode(change)
        #expect(info.operation == .verifyAndChangeEmail)
        #expect(info.email == "new@example.com")
        #expect(info.previousEmail == "ann@example.com")
        try await waitForNextSecond()
        try await auth.applyActionCode(change)
        await wait(for: auth, signedIn: false)

        try await auth.sendSignInLink(
            toEmail: "new@example.com", actionCodeSettings: ActionCodeSettings(url: "http://localhost/in"))
        let link = "http://localhost/auth/action?mode=signIn&oobCode=\(try server.lastCode())&apiKey=x"
        #expect(auth.isSignIn(withEmailLink: link))
        #expect(!auth.isSignIn(withEmailLink: "http://localhost/?mode=signIn"))
        #expect(try await auth.signIn(withEmail: "new@example.com", link: link).user.uid == user.uid)
    }

    @Test("a password is changed while the database continues; other sessions end")
    func passwordChange() async throws {
        let database = try server.client(auth)
        let user = try await auth.createUser(withEmail: "ann@example.com", password: "secret1").user
        for round in 2...4 {
            try await waitForNextSecond()
            try await user.updatePassword(to: "secret\(round)")
            #expect(auth.currentUser == user)
            #expect(auth.sessionEndError == nil)
            #expect(try await database.access(user.uid) == .allowed)
        }
        try await user.updateEmail(to: "new@example.com")
        #expect(user.email == "new@example.com")
        #expect(try await database.access(user.uid) == .allowed)
        #expect(await code { try await user.updateEmail(to: "x") } == .invalidEmail)
    }

    @Test(
        "a user who is deleted, disabled or revoked is signed out with the reason, and the database is nobody's",
        arguments: [("delete", AuthErrorCode.userNotFound), ("disable", .userDisabled), ("revoke", .userTokenExpired)])
    func sentAway(_ how: String, _ expected: AuthErrorCode) async throws {
        let database = try server.client(auth)
        let user = try await auth.createUser(withEmail: "ann@example.com", password: "secret1").user
        #expect(try await database.access(user.uid) == .allowed)
        let log = EventLog()
        database.reference(withPath: "users/\(user.uid)").observe(.value) {
            log.add("\($0.value)")
        } withCancel: {
            log.add("cancelled \($0)")
        }
        #expect(await log.next() == "1")
        try await waitForNextSecond()
        switch how {
        case "delete": try server.delete(user.uid)
        case "disable": try server.change(user.uid, #""disableUser":true"#)
        default: try server.change(user.uid, #""validSince":"4000000000""#)
        }
        // The server ends the connection, and the next one learns why.
        await wait(for: auth, signedIn: false)
        #expect(auth.sessionEndError?.code == expected)
        #expect(await log.next()?.hasPrefix("cancelled permission denied") == true)
        #expect(try await database.access(user.uid) == .denied)
        #expect(await code { _ = try await user.getIDToken(forcingRefresh: true) } == expected)
    }

    @Test("a user who deletes the account is gone, and the database is nobody's")
    func deletion() async throws {
        let database = try server.client(auth)
        let user = try await auth.createUser(withEmail: "ann@example.com", password: "secret1").user
        #expect(try await database.access(user.uid) == .allowed)
        try await user.delete()
        #expect(auth.currentUser == nil)
        #expect(auth.sessionEndError == nil)
        #expect(try await database.access(user.uid) == .denied)
        #expect(
            await code { try await auth.signIn(withEmail: "ann@example.com", password: "secret1") } == .userNotFound)
    }

    @Test("a database is another user from the next request on")
    func switching() async throws {
        let database = try server.client(auth)
        let ann = try await auth.createUser(withEmail: "ann@example.com", password: "secret1").user
        let log = EventLog()
        database.reference(withPath: "users/\(ann.uid)").observe(.value) {
            log.add("ann \($0.value)")
        } withCancel: {
            log.add("ann \($0)")
        }
        #expect(await log.next() == "ann null")
        let bob = try await auth.createUser(withEmail: "bob@example.com", password: "secret1").user
        #expect(await log.next()?.hasPrefix("ann permission denied") == true)
        for _ in 0..<5 {
            try await auth.signIn(withEmail: "ann@example.com", password: "secret1")
            #expect(try await database.access(ann.uid) == .allowed)
            #expect(try await database.access(bob.uid) == .denied)
            try await auth.signIn(withEmail: "bob@example.com", password: "secret1")
            #expect(try await database.access(ann.uid) == .denied)
            #expect(try await database.access(bob.uid) == .allowed)
        }
    }
}
