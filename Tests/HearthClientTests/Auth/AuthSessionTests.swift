import HearthServerSupport
import Glibc
import HearthClient
import Testing

@Suite("A session that is kept", .timeLimit(.minutes(15)))
struct AuthSessionTests {
    private let server: AccountServer
    private let folder: TestFolder

    init() throws {
        server = try AccountServer()
        folder = try TestFolder()
    }

    private var file: String { "\(folder.path)/session" }

    private func open() throws -> Auth { try server.auth { $0.sessionFile = file } }

    @Test("a program that is started again is signed in at once, and its database too")
    func restart() async throws {
        let first = try open()
        let uid = try await first.createUser(withEmail: "ann@example.com", password: "secret1").user.uid
        try await first.currentUser?.updateProfile(displayName: "Ann")
        var information = stat()
        #expect(stat(file, &information) == 0)
        #expect(information.st_mode & 0o777 == 0o600)
        let gone = try #require(first.currentUser)
        first.close()
        #expect(first.currentUser == nil)
        let error = await #expect(throws: AuthError.self) { try await gone.getIDToken(forcingRefresh: true) }
        #expect(error?.code == .closed)

        let second = try open()
        let user = try #require(second.currentUser)
        #expect(user.uid == uid)
        #expect(user.displayName == "Ann")
        #expect(user.providerData.map(\.providerID) == ["password"])
        let database = try server.client(second)
        #expect(try await database.access(uid) == .allowed)
        try second.signOut()
        #expect(try await database.access(uid) == .denied)
        second.close()

        #expect(stat(file, &information) != 0)
        #expect(try open().currentUser == nil)
    }

    @Test("without a network the user stays; a refused file is an error")
    func offline() async throws {
        let first = try open()
        let uid = try await first.createUser(withEmail: "ann@example.com", password: "secret1").user.uid
        first.close()
        server.database.stop()
        let second = try open()
        let user = try #require(second.currentUser)
        let reload = await #expect(throws: AuthError.self) { try await user.reload() }
        #expect(reload?.code == .networkError)
        #expect(second.currentUser?.uid == uid)
        // The token is still good for an hour.
        #expect(try await user.getIDTokenResult().claims["user_id"] == .string(uid))
        let refresh = await #expect(throws: AuthError.self) { try await user.getIDToken(forcingRefresh: true) }
        #expect(refresh?.code == .networkError)
        #expect(second.currentUser?.uid == uid)
        #expect(second.sessionEndError == nil)
        second.close()

        var error = #expect(throws: AuthError.self) {
            var options = AuthOptions.patient
            options.sessionFile = file
            return try Auth(url: "http://127.0.0.1:9", options: options)
        }
        #expect(error?.code == .sessionFile)
        chmod(file, 0o644)
        error = #expect(throws: AuthError.self) { try open() }
        #expect(error?.code == .sessionFile)
        _ = try folder.write("no session", as: "session")
        chmod(file, 0o600)
        #expect(try open().currentUser == nil)
    }

    @Test("a session that ended meanwhile ends at the start, with its reason")
    func endedMeanwhile() async throws {
        for (members, expected) in [
            (#""disableUser":true"#, AuthErrorCode.userDisabled), (#""validSince":"4000000000""#, .userTokenExpired),
        ] {
            let first = try open()
            let uid = try await first.signInAnonymously().user.uid
            first.close()
            try await waitForNextSecond()
            try server.change(uid, members)
            let second = try open()
            #expect(second.currentUser?.uid == uid)
            await wait(for: second, signedIn: false)
            #expect(second.sessionEndError?.code == expected)
            second.close()
            let third = try open()
            #expect(third.currentUser == nil)
            third.close()
        }
    }

    @Test("an ID token is replaced before it ends, in the database and on disk too")
    func refresh() async throws {
        let auth = try server.auth { options in
            options.sessionFile = file
            options.refreshLead = .milliseconds(3_599_900)
        }
        let user = try await auth.signInAnonymously().user
        let database = try server.client(auth)
        let log = EventLog()
        auth.addIDTokenDidChangeListener { _, user in log.add(user?.uid ?? "-") }
        // The present one, and two without requests.
        #expect(await log.next(3) == [user.uid, user.uid, user.uid])
        #expect(try await database.access(user.uid) == .allowed)
        auth.close()
        #expect(try open().currentUser?.uid == user.uid)
    }
}
