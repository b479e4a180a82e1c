import HearthServerSupport
import Glibc
import HearthClient
import Synchronization
import Testing

@Suite("Sign-ins and answers that cross", .timeLimit(.minutes(15)))
struct AuthRaceTests {
    private let credential = EmailAuthProvider.credential(withEmail: "ann@example.com", password: "secret1")

    /// Everybody is Ann, and each sign-in has a token of its own. Refreshes are left to the test, and what else is
    /// named.
    private func server(leaving left: Set<String> = []) throws -> ScriptedHTTP {
        let signIns = Mutex(0)
        return ScriptedHTTP { question in
            if left.contains(question.operation) { return false }
            switch question.operation {
            case "signInWithPassword":
                let number = signIns.withLock { count in
                    count += 1
                    return count
                }
                question.answer(
                    #"{"idToken":"id \#(number)","refreshToken":"refresh \#(number)","expiresIn":"3600"}"#)
            case "lookup": question.answer(#"{"users":[{"localId":"ann","email":"ann@example.com"}]}"#)
            case "resetPassword": question.answer(#"{"requestType":"PASSWORD_RESET"}"#)
            default: return false
            }
            return true
        }
    }

    private func open(
        _ server: ScriptedHTTP, _ configure: (inout AuthOptions) -> Void = { _ in }
    ) throws -> Auth {
        var options = AuthOptions.patient
        options.transport = server.network
        configure(&options)
        return try Auth(url: server.urlText, options: options)
    }

    private func refreshed(_ question: ScriptedHTTP.Question?, _ name: String) {
        question?.answer(#"{"access_token":"id \#(name)","refresh_token":"refresh \#(name)","expires_in":"3600"}"#)
    }

    @Test(
        "a sign-in outlives what is said of the tokens before it", arguments: [nil, "TOKEN_EXPIRED", "USER_DISABLED"])
    func signInDuringRefresh(word: String?) async throws {
        let server = try server()
        let auth = try open(server)
        let user = try await auth.signIn(with: credential).user
        async let token = user.getIDToken(forcingRefresh: true)
        let question = await server.next()
        #expect(question?.operation == "token")
        #expect(question?.body.contains("refresh 1") == true)
        #expect(try await auth.signIn(with: credential).user === user)
        if let word { question?.refuse(word) } else { refreshed(question, "late") }
        #expect(try await token == "id 2")
        #expect(auth.currentUser === user)
        #expect(auth.sessionEndError == nil)
        #expect(user.refreshToken == "refresh 2")
    }

    @Test("what is asked when the sign-in is closed fails with that, and not with the network")
    func closing() async throws {
        let server = try server()
        let auth = try open(server)
        let user = try await auth.signIn(with: credential).user
        let token = Task { try await user.getIDToken(forcingRefresh: true) }
        _ = await server.next()
        auth.close()
        let error = await #expect(throws: AuthError.self) { try await token.value }
        #expect(error?.code == .closed)
    }

    @Test("a sign-in outlives the refusal of what was asked before it")
    func signInDuringQuestion() async throws {
        let server = try server(leaving: ["update"])
        let auth = try open(server)
        let user = try await auth.signIn(with: credential).user
        let change = Task { try await user.updateProfile(displayName: "Ann") }
        let question = await server.next()
        try await auth.signIn(with: credential)
        question?.refuse("USER_NOT_FOUND")
        let error = await #expect(throws: AuthError.self) { try await change.value }
        #expect(error?.code == .userNotFound)
        #expect(auth.currentUser === user)
        #expect(user.refreshToken == "refresh 2")
    }

    @Test("a proof of who this is does not cross with a refresh, and its tokens stay")
    func reauthenticationDuringRefresh() async throws {
        let server = try server(leaving: ["signInWithPassword"])
        let auth = try open(server)
        func signedIn(_ question: ScriptedHTTP.Question?, _ name: String) {
            #expect(question?.operation == "signInWithPassword")
            question?.answer(#"{"idToken":"id \#(name)","refreshToken":"refresh \#(name)","expiresIn":"3600"}"#)
        }
        async let result = auth.signIn(with: credential)
        signedIn(await server.next(), "first")
        let user = try await result.user
        async let token = user.getIDToken(forcingRefresh: true)
        let refresh = await server.next()
        #expect(refresh?.operation == "token")
        async let proof = user.reauthenticate(with: credential)
        // Time for a question that does not wait.
        for _ in 0..<20 { _ = try await auth.checkActionCode("x") }
        refreshed(refresh, "old")
        #expect(try await token == "id old")
        signedIn(await server.next(), "new")
        _ = try await proof
        #expect(user.refreshToken == "refresh new")
    }

    @Test(
        "the credential of somebody who is not there is another user's",
        arguments: ["EMAIL_NOT_FOUND", "USER_NOT_FOUND"])
    func mismatch(word: String) async throws {
        let server = try server()
        let auth = try open(server)
        let user = try await auth.signIn(with: credential).user
        let nobody = OAuthProvider.credential(withProviderID: "oidc.campus", idToken: "x")
        let proof = Task { try await user.reauthenticate(with: nobody) }
        await server.next()?.refuse(word)
        let error = await #expect(throws: AuthError.self) { _ = try await proof.value }
        #expect(error?.code == .userMismatch)
        #expect(auth.currentUser === user)
    }

    @Test("many who ask for a new token at once share one request, or the next")
    func sharing() async throws {
        let requests = Mutex(0)
        let server = try server()
        let auth = try open(server)
        let user = try await auth.signIn(with: credential).user
        let tokens = Task {
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<8 { group.addTask { try await user.getIDToken(forcingRefresh: true) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        let answers = Task {
            while let question = await server.next() {
                let count = requests.withLock { count in
                    count += 1
                    return count
                }
                // Those who come while the first is asked for get the second.
                if count == 1 { for _ in 0..<5 { _ = try await auth.checkActionCode("x") } }
                refreshed(question, "\(count)")
            }
        }
        let count = try await tokens.value.count
        answers.cancel()
        #expect(count == 8)
        #expect(requests.withLock { $0 } <= 2)
    }

    @Test("an account that is deleted is nobody's any more, whatever the disk says")
    func deletion() async throws {
        let folder = try TestFolder()
        let file = folder.path + "/session"
        let server = try server()
        let auth = try open(server) { $0.sessionFile = file }
        let user = try await auth.signIn(with: credential).user
        // A folder cannot be removed as a file.
        #expect(unlink(file) == 0)
        #expect(mkdir(file, 0o700) == 0)
        defer { rmdir(file) }
        let refused = #expect(throws: AuthError.self) { try auth.signOut() }
        #expect(refused?.code == .sessionFile)
        #expect(auth.currentUser === user)
        let deletion = Task { try await user.delete() }
        await server.next()?.answer("{}")
        let error = await #expect(throws: AuthError.self) { try await deletion.value }
        #expect(error?.code == .sessionFile)
        #expect(auth.currentUser == nil)
    }

    @Test("the program shares one for a server, and another one when that is closed")
    func shared() async throws {
        let url = try server().urlText
        let all = try await withThrowingTaskGroup(of: Auth.self) { group in
            for _ in 0..<20 { group.addTask { try Auth.auth(url: url) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let first = all[0]
        #expect(all.allSatisfy { $0 === first })
        first.close()
        let second = try Auth.auth(url: url)
        #expect(second !== first)
        second.close()
        let database = try Database.database(url: "ws://127.0.0.1:9/?ns=shared")
        #expect(try Database.database(url: "ws://127.0.0.1:9/?ns=shared") === database)
        await database.close()
        let other = try Database.database(url: "ws://127.0.0.1:9/?ns=shared")
        #expect(other !== database)
        await other.close()
    }

    @Test("what is known of a user, tokens and users are told to those who want it")
    func changes() async throws {
        let server = try server(leaving: ["lookup"])
        let auth = try open(server)
        let (states, tokens, users) = (EventLog(), EventLog(), EventLog())
        let readers = [
            Task { for await user in auth.stateChanges { states.add(user?.displayName ?? "-") } },
            Task { for await user in auth.idTokenChanges { tokens.add(user?.displayName ?? "-") } },
            Task { for await user in auth.userChanges { users.add(user?.displayName ?? "-") } },
        ]
        for log in [states, tokens, users] { #expect(await log.next() == "-") }
        func described(_ name: String) async {
            await server.next()?.answer(#"{"users":[{"localId":"ann","displayName":"\#(name)"}]}"#)
        }
        async let result = auth.signIn(with: credential)
        await described("Ann")
        let user = try await result.user
        for log in [states, tokens, users] { #expect(await log.next() == "Ann") }
        // The same description is no change.
        for name in ["Ann", "Anna"] {
            async let reload: Void = user.reload()
            await described(name)
            try await reload
        }
        #expect(await users.next() == "Anna")
        async let token = user.getIDToken(forcingRefresh: true)
        refreshed(await server.next(), "2")
        _ = try await token
        #expect(await tokens.next() == "Anna")
        #expect(await users.next() == "Anna")
        try auth.signOut()
        for log in [states, tokens, users] { #expect(await log.next() == "-") }
        for reader in readers { reader.cancel() }
    }
}
