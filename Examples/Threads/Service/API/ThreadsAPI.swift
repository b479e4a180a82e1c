import HearthClient
import HearthHTTP

/// What the service does about requests. It keeps nothing: accounts, threads and messages are in the database, whose
/// rules say who may do what.
final class ThreadsAPI: Sendable {
    private let auth: Auth
    private let databases: UserDatabases

    /// - parameters:
    ///   - url: the database's.
    ///   - projectID: that of its users; nil for a database in development mode.
    init(url: String, projectID: String?, limits: UserDatabases.Limits) throws {
        var options = AuthOptions()
        options.requestTimeout = limits.patience
        auth = try Auth(url: url, options: options)
        databases = try UserDatabases(url: url, projectID: projectID, limits: limits)
    }

    private typealias Handler = @Sendable (Request) async throws(APIFailure) -> [String: DatabaseValue]

    /// Who answers which request.
    var router: Router {
        var router = Router()
        router.failed = { APIFailure($0).response }
        router.post("/api/login", Self.answering(logIn))
        router.post("/api/signup", Self.answering(signUp))
        router.get("/api/threads", Self.answering(threads))
        router.post("/api/thread/add", Self.answering(addThread))
        router.get("/api/thread/delete/{thread_id}", Self.answering(deleteThread))
        router.get("/api/messages/{thread_id}", Self.answering(messages))
        router.post("/api/message/add", Self.answering(addMessage))
        router.get("/api/message/delete/{message_id}", Self.answering(deleteMessage))
        return router
    }

    /// Answers with the members from a handler, or with its error.
    private static func answering(_ handler: @escaping Handler) -> Router.Handler {
        { request in
            do throws(APIFailure) {
                return Response(api: ["status": "ok"].merging(try await handler(request)) { $1 })
            } catch {
                return error.response
            }
        }
    }

    /// Closes databases that were not used for long. Call it periodically.
    func closeIdle() { databases.closeIdle() }

    func close() {
        databases.closeAll()
        auth.close()
    }

    // MARK: Accounts

    private func logIn(_ request: Request) async throws(APIFailure) -> [String: DatabaseValue] {
        var fields = try BodyFields(request)
        let email = fields.text("email", lengthMax: 256)
        let password = fields.text("password", lengthMax: 1024, keepsSpace: true)
        try fields.check()
        let token: String
        let user: User
        do throws(AuthError) {
            user = try await auth.signIn(withEmail: email, password: password).user
            token = try await user.getIDToken()
        } catch {
            throw APIFailure(error)
        }
        forget(user)
        let creator = try await databases.perform(as: token) { try await $0.creator(user.uid) }
        return Self.session(token, email: user.email ?? email, creator)
    }

    private func signUp(_ request: Request) async throws(APIFailure) -> [String: DatabaseValue] {
        var fields = try BodyFields(request)
        let email = fields.text("email", lengthMax: 256)
        let password = fields.text("password", lengthMax: 1024, keepsSpace: true)
        let firstName = fields.text("fname", lengthMax: 100)
        let lastName = fields.text("lname", lengthMax: 100)
        try fields.check()
        let token: String
        let user: User
        do throws(AuthError) {
            user = try await auth.createUser(withEmail: email, password: password).user
            token = try await user.getIDToken()
        } catch {
            throw APIFailure(error)
        }
        do throws(APIFailure) {
            try await databases.perform(as: token) {
                try await $0.introduce(firstName: firstName, lastName: lastName)
            }
        } catch {
            // Without a name, the account would only be in the way of the next attempt.
            try? await user.delete()
            throw error
        }
        forget(user)
        return Self.session(
            token, email: user.email ?? email, Creator(id: user.uid, firstName: firstName, lastName: lastName))
    }

    /// The service itself has no identity: signed-in users have the token, and send it.
    private func forget(_ user: User) { if auth.currentUser == user { try? auth.signOut() } }

    private static func session(_ token: String, email: String, _ creator: Creator) -> [String: DatabaseValue] {
        ["token": .string(token), "user_email": .string(email)].merging(creator.members) { $1 }
    }

    // MARK: Threads

    private func threads(_ request: Request) async throws(APIFailure) -> [String: DatabaseValue] {
        let threads = try await databases.perform(as: try request.token()) { try await $0.threads() }
        return ["threads": .array(threads.map { .object($0.members) })]
    }

    private func addThread(_ request: Request) async throws(APIFailure) -> [String: DatabaseValue] {
        let token = try request.token()
        var fields = try BodyFields(request)
        let title = fields.text("title", lengthMax: 200)
        try fields.check()
        let thread = try await databases.perform(as: token) { try await $0.addThread(title: title) }
        return ["thread": .object(thread.members)]
    }

    private func deleteThread(_ request: Request) async throws(APIFailure) -> [String: DatabaseValue] {
        try await databases.perform(as: try request.token()) {
            try await $0.deleteThread(request.parameter("thread_id"))
        }
        return [:]
    }

    // MARK: Messages

    private func messages(_ request: Request) async throws(APIFailure) -> [String: DatabaseValue] {
        let (thread, messages) = try await databases.perform(as: try request.token()) {
            try await $0.messages(of: request.parameter("thread_id"))
        }
        return [
            "thread": .object(thread.members), "messages": .array(messages.map { .object($0.members) }),
        ]
    }

    private func addMessage(_ request: Request) async throws(APIFailure) -> [String: DatabaseValue] {
        let token = try request.token()
        var fields = try BodyFields(request)
        let thread = fields.text("thread_id", lengthMax: 128)
        let text = fields.text("message", lengthMax: 5000)
        try fields.check()
        let message = try await databases.perform(as: token) { try await $0.addMessage(text, to: thread) }
        return ["message": .object(message.members)]
    }

    private func deleteMessage(_ request: Request) async throws(APIFailure) -> [String: DatabaseValue] {
        try await databases.perform(as: try request.token()) {
            try await $0.deleteMessage(request.parameter("message_id"))
        }
        return [:]
    }
}

extension Creator {
    fileprivate var members: [String: DatabaseValue] {
        ["user_id": .string(id), "user_fname": .string(firstName), "user_lname": .string(lastName)]
    }
}

extension MessageThread {
    fileprivate var members: [String: DatabaseValue] {
        ["id": .string(id), "title": .string(title), "created_at": .int(Int64(created))]
            .merging(creator.members) { $1 }
    }
}

extension Message {
    fileprivate var members: [String: DatabaseValue] {
        [
            "id": .string(id.text), "thread_id": .string(id.thread), "message": .string(text),
            "created_at": .int(Int64(created)),
        ].merging(creator.members) { $1 }
    }
}

extension Request {
    /// The token of the user who asks.
    fileprivate func token() throws(APIFailure) -> String {
        do throws(HTTPError) { return try bearerToken() } catch {
            throw APIFailure(401, "Log in, and send the token as 'Authorization: BEARER token'.")
        }
    }
}

extension Response {
    /// JSON that is not the same for everybody: answers hold tokens.
    init(_ status: Int = 200, api body: [String: DatabaseValue]) {
        // Strings and whole numbers can always be written.
        self.init(status, json: (try? DatabaseValue.object(body).jsonText()) ?? [])
        headers.append(("Cache-Control", "no-store"))
    }
}
