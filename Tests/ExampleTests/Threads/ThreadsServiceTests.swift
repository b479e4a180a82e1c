import HearthEventLoop
import HearthHTTPCodec
import HearthClient
import HearthJSONValues
import HearthTestSupport
import Testing

@testable import HearthThreadsService

@Suite("The service of the threads", .timeLimit(.minutes(15)))
struct ThreadsServiceTests {
    @Test("signs up and logs in, by form and by JSON, and the answer says who it is")
    func accounts() async throws {
        let house = try ThreadsHouse()
        let new = try await house.ask(
            "/api/signup", form: "email=Ann%40example.com&password=secret+1&fname=Ann+Mary&lname=M%C3%BCller")
        #expect(new.status == 200)
        #expect(new.text("user_fname") == "Ann Mary")
        #expect(new.text("user_lname") == "Müller")
        #expect(new.text("user_email") == "ann@example.com")
        let back = try await house.ask(
            "POST", "/api/login", body: #"{"email":"ann@example.com","password":"secret 1"}"#,
            type: "application/json; charset=utf-8")
        #expect(back.status == 200)
        #expect(back.text("user_id") == new.text("user_id"))
        #expect(back.text("user_fname") == "Ann Mary")
        #expect(back.text("user_lname") == "Müller")
        let token = try #require(back.text("token"))
        for scheme in ["BEARER", "Bearer", "bearer", "bEaReR"] {
            let answer = try await house.ask("GET", "/api/threads", body: "", authorization: "\(scheme) \(token)")
            #expect(answer.status == 200)
        }
    }

    @Test("shows the threads of all users with their creators, the oldest first, and lets only these delete them")
    func threads() async throws {
        let house = try ThreadsHouse()
        let (ann, annID) = try await house.signUp("Ann")
        let (bob, _) = try await house.signUp("Bob", "Lee")
        let trips = try await house.addThread("Trips", ann)
        let books = try await house.addThread("Books+%26+films", bob)
        for token in [ann, bob] {
            let threads = try await house.ask("/api/threads", token: token).objects("threads")
            #expect(threads.map { $0["id"]?.text } == ["welcome", trips, books])
            #expect(threads.map { $0["title"]?.text } == ["Welcome", "Trips", "Books & films"])
            #expect(threads.map { $0["user_fname"]?.text } == ["The", "Ann", "Bob"])
            #expect(threads.map { $0["user_lname"]?.text } == ["House", "Ray", "Lee"])
            #expect(threads[1]["user_id"]?.text == annID)
            #expect(threads.allSatisfy { ($0["created_at"]?.integer ?? 0) > 1_700_000_000_000 })
        }
        _ = try await house.addMessage("Rome", to: trips, bob)
        let refused = try await house.ask("/api/thread/delete/\(trips)", token: bob)
        #expect(refused.status == 403)
        #expect(refused.text("error") == "Only its creator may delete a thread.")
        #expect(try await house.ask("/api/messages/\(trips)", token: ann).objects("messages").count == 1)
        #expect(try await house.ask("/api/thread/delete/\(trips)", token: ann).status == 200)
        let left = try await house.ask("/api/threads", token: bob).objects("threads")
        #expect(left.map { $0["id"]?.text } == ["welcome", books])
        #expect(try await house.ask("/api/messages/\(trips)", token: bob).status == 404)
        #expect(try await house.ask("/api/thread/delete/\(trips)", token: ann).status == 404)
    }

    @Test("shows the messages of a thread with their creators, the oldest first, and lets only these delete them")
    func messages() async throws {
        let house = try ThreadsHouse()
        let (ann, _) = try await house.signUp("Ann")
        let (bob, bobID) = try await house.signUp("Bob")
        let thread = try await house.addThread("Trips", ann)
        let first = try await house.addMessage("Rome+in+May%3F", to: thread, ann)
        let second = try await house.ask(
            "POST", "/api/message/add", body: #"{"thread_id":"\#(thread)","message":"Sí 🎉\nand Naples"}"#,
            type: "application/json", authorization: "Bearer \(bob)")
        let added = try #require(second.body["message"]?.object)
        #expect(added["thread_id"]?.text == thread)
        #expect(added["user_id"]?.text == bobID)
        let answer = try await house.ask("/api/messages/\(thread)", token: bob)
        #expect(answer.body["thread"]?.object?["title"]?.text == "Trips")
        let messages = answer.objects("messages")
        #expect(messages.map { $0["message"]?.text } == ["Rome in May?", "Sí 🎉\nand Naples"])
        #expect(messages.map { $0["user_fname"]?.text } == ["Ann", "Bob"])
        #expect(messages.map { $0["id"]?.text } == [first, added["id"]?.text])

        // That the thread is Ann's does not make Bob's message hers.
        // Not even as the last one.
        let id = try #require(added["id"]?.text)
        #expect(try await house.ask("/api/message/delete/\(first)", token: ann).status == 200)
        let refused = try await house.ask("/api/message/delete/\(id)", token: ann)
        #expect(refused.status == 403)
        #expect(refused.text("error") == "Only its creator may delete a message.")
        #expect(try await house.ask("/api/messages/\(thread)", token: ann).objects("messages").count == 1)
        #expect(try await house.ask("/api/message/delete/\(id)", token: bob).status == 200)
        #expect(try await house.ask("/api/message/delete/\(id)", token: bob).status == 404)
    }

    private struct Wrong: CustomTestStringConvertible {
        var method = "POST"
        let path: String
        var body = ""
        var type: String? = "application/x-www-form-urlencoded"
        let status: Int
        let error: String
        var fields: [String] = []

        var testDescription: String { "\(method) \(path) \(body.prefix(40)): \(status)" }
    }

    private static let wrong: [Wrong] = [
        Wrong(
            path: "/api/signup", status: 400, error: "'lname' is missing",
            fields: ["email", "fname", "lname", "password"]),
        Wrong(
            path: "/api/signup", body: "email=a%40b.de&fname=+&lname=L&password=secret1", status: 400, error: "'fname'",
            fields: ["fname"]),
        Wrong(
            path: "/api/signup", body: "email=nobody&fname=F&lname=L&password=secret1", status: 400,
            error: "not an email address", fields: ["email"]),
        Wrong(
            path: "/api/signup", body: "email=a%40b.de&fname=F&lname=L&password=12345", status: 400, error: "too weak",
            fields: ["password"]),
        Wrong(
            path: "/api/signup", body: "email=ann%40example.com&fname=F&lname=L&password=secret1", status: 409,
            error: "already", fields: ["email"]),
        Wrong(
            path: "/api/login", body: "email=ann%40example.com", status: 400, error: "'password' is missing",
            fields: ["password"]),
        Wrong(path: "/api/login", body: "email=ann%40example.com&password=secret2", status: 401, error: "is wrong"),
        Wrong(path: "/api/login", body: "email=eve%40example.com&password=secret1", status: 401, error: "is wrong"),
        Wrong(path: "/api/login", body: "{", type: "application/json", status: 400, error: "not a JSON object"),
        Wrong(path: "/api/login", body: "[]", type: "application/json", status: 400, error: "not a JSON object"),
        Wrong(
            path: "/api/login", body: #"{"email":1,"password":null}"#, type: "application/json", status: 400,
            error: "'email' must be a text", fields: ["email", "password"]),
        Wrong(path: "/api/login", body: "email=%FF&password=x", status: 400, error: "not UTF-8"),
        Wrong(path: "/api/login", body: "<a/>", type: "text/xml", status: 415, error: "not text/xml"),
        Wrong(path: "/api/thread/add", status: 400, error: "'title' is missing", fields: ["title"]),
        Wrong(
            path: "/api/thread/add", body: "title=" + String(repeating: "x", count: 201), status: 400,
            error: "more than 200", fields: ["title"]),
        Wrong(
            path: "/api/message/add", body: "thread_id=welcome", status: 400, error: "'message' is missing",
            fields: ["message"]),
        Wrong(
            path: "/api/message/add", status: 400, error: "'thread_id' is missing", fields: ["message", "thread_id"]),
        Wrong(path: "/api/message/add", body: "thread_id=none&message=Hi", status: 404, error: "no such thread"),
        Wrong(
            path: "/api/message/add", body: "thread_id=welcome%2Ftitle&message=Hi", status: 404, error: "no such thread"
        ),
        Wrong(
            path: "/api/message/add", body: "thread_id=welcome&message=" + String(repeating: "x", count: 5001),
            status: 400, error: "more than 5000", fields: ["message"]),
        Wrong(
            path: "/api/message/add", body: "thread_id=welcome&message=" + String(repeating: "x", count: 70_000),
            status: 413, error: "too large"),
        Wrong(method: "GET", path: "/api/messages/none", status: 404, error: "no such thread"),
        Wrong(method: "GET", path: "/api/messages/", status: 404, error: "nothing at this path"),
        Wrong(method: "GET", path: "/api/messages/welcome%2Ftitle", status: 404, error: "no such thread"),
        Wrong(method: "GET", path: "/api/thread/delete/none", status: 404, error: "no such thread"),
        Wrong(method: "GET", path: "/api/thread/delete/welcome", status: 403, error: "Only its creator"),
        Wrong(method: "GET", path: "/api/thread/delete/%77elcom%65", status: 403, error: "Only its creator"),
        Wrong(method: "GET", path: "/api/thread/delete/welcome%", status: 404, error: "no such thread"),
        Wrong(method: "GET", path: "/api/thread/delete/%zzwelcome", status: 404, error: "no such thread"),
        Wrong(method: "GET", path: "/api/message/delete/welcome", status: 404, error: "no such message"),
        Wrong(method: "GET", path: "/api/message/delete/welcome.", status: 404, error: "no such message"),
        Wrong(method: "GET", path: "/api/message/delete/welcome.first.text", status: 404, error: "no such message"),
        Wrong(method: "GET", path: "/api/message/delete/welcome.none", status: 404, error: "no such message"),
        Wrong(method: "GET", path: "/api/message/delete/welcome.first", status: 403, error: "Only its creator"),
        Wrong(method: "GET", path: "/", status: 404, error: "nothing at this path"),
        Wrong(method: "GET", path: "/api/threads/", status: 404, error: "nothing at this path"),
        Wrong(method: "GET", path: "/api/login", status: 405, error: "This path takes POST."),
        Wrong(method: "DELETE", path: "/api/threads", status: 405, error: "This path takes GET, HEAD."),
    ]

    @Test("says what is wrong with a request, in JSON and with the right status, and changes nothing")
    func wrong() async throws {
        let house = try ThreadsHouse()
        let (ann, _) = try await house.signUp("Ann")
        for wrong in Self.wrong {
            let answer = try await house.ask(
                wrong.method, wrong.path, body: wrong.body, type: wrong.type, authorization: "Bearer \(ann)")
            let text = try #require(answer.text("error"), "\(wrong.testDescription)")
            #expect(answer.status == wrong.status, "\(wrong.testDescription): \(text)")
            #expect(text.contains(wrong.error), "\(wrong.testDescription): \(text)")
            let fields = answer.body["fields"]?.object?.members.map { String(decoding: $0.name, as: UTF8.self) }
            #expect((fields ?? []).sorted() == wrong.fields, "\(wrong.testDescription)")
        }
        #expect(try await house.ask("/api/threads", token: ann).objects("threads").count == 1)
        #expect(try await house.ask("/api/messages/welcome", token: ann).objects("messages").count == 2)
    }

    @Test("tells those who come without a token, or with one that the database does not believe, to log in")
    func tokens() async throws {
        let house = try ThreadsHouse(isDevelopment: false)
        let (ann, annID) = try await house.signUp("Ann")
        #expect(try await house.ask("/api/threads", token: ann).status == 200)
        let (stranger, _) = try await ThreadsHouse(isDevelopment: false).signUp("Ann")
        let parts = ann.split(separator: ".")
        let authorizations: [String?] = [
            nil, "Basic YW5uOng=", "BEARER", "Bearer a b", "Bearer x", "Bearer x.y.z", "Bearer \(stranger)",
            "Bearer \(ThreadsHouse.madeUpToken(annID))", "Bearer \(parts[0]).\(parts[1]).AAAA",
            "Bearer \u{FF}",
        ]
        for authorization in authorizations {
            for (method, path) in [
                ("GET", "/api/threads"), ("POST", "/api/thread/add"), ("GET", "/api/messages/welcome"),
            ] {
                let answer = try await house.ask(method, path, body: "title=x", authorization: authorization)
                #expect(answer.status == 401, "\(method) \(path) as \(authorization ?? "nobody")")
                #expect(answer.text("error")?.lowercased().contains("log in") == true)
            }
        }
        // Refusals do not affect users that the database knows.
        #expect(try await house.ask("/api/threads", token: ann).objects("threads").count == 1)
    }

    @Test("stops users whose account was deleted, though the connection was kept")
    func revocation() async throws {
        let house = try ThreadsHouse(isDevelopment: false)
        let (ann, _) = try await house.signUp("Ann")
        let (bob, _) = try await house.signUp("Bob")
        #expect(try await house.ask("/api/threads", token: ann).status == 200)
        let auth = try Auth(url: house.server.url)
        try await auth.signIn(withEmail: "ann@example.com", password: "secret1").user.delete()
        // The database tells the connections of a deleted user a moment later.
        var answer = try await house.ask("/api/threads", token: ann)
        while answer.status == 200, !Task.isCancelled { answer = try await house.ask("/api/threads", token: ann) }
        #expect(answer.status == 401)
        #expect(try await house.ask("/api/threads", token: bob).status == 200)
    }

    @Test("answers requests on one connection in their order, and ends it after one that makes no sense")
    func pipelining() async throws {
        let house = try ThreadsHouse()
        let (ann, _) = try await house.signUp("Ann")
        func request(_ method: String, _ path: String, _ body: String = "") -> String {
            "\(method) \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(ann)\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        }
        let answers = await house.exchange(
            request("POST", "/api/thread/add", "title=One") + request("GET", "/api/threads")
                + request("GET", "/api/nothing") + request("DELETE", "/api/threads") + "NONSENSE\r\n\r\n"
                + request("GET", "/api/threads"))
        #expect(answers.map(\.status) == [200, 200, 404, 405, 400])
        #expect(String(decoding: answers[1].body, as: UTF8.self).contains("\"title\":\"One\""))
        #expect(answers[3].field("allow") == "GET, HEAD")
        #expect(answers.allSatisfy { $0.field("cache-control") == "no-store" })
    }

    @Test("takes a body in chunks, up to its limit")
    func chunks() async throws {
        let house = try ThreadsHouse()
        let (ann, _) = try await house.signUp("Ann")
        func post(_ chunks: String) -> String {
            "POST /api/thread/add HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n"
                + "Authorization: Bearer \(ann)\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n\(chunks)"
        }
        let taken = await house.exchange(post("6\r\ntitle=\r\n3\r\nOne\r\n0\r\n\r\n"))
        #expect(taken.map(\.status) == [200])
        let chunk = "4000\r\n" + String(repeating: "x", count: 0x4000) + "\r\n"
        let refused = await house.exchange(post(String(repeating: chunk, count: 5) + "0\r\n\r\n"))
        #expect(refused.map(\.status) == [413])
        #expect(refused.first?.field("connection") == "close")
    }

    @Test("says so while the database cannot be reached")
    func unreachable() async throws {
        let house = try ThreadsHouse { configuration in
            // Nobody listens there.
            configuration.url = "http://127.0.0.1:1"
            configuration.users.patience = .milliseconds(200)
        }
        let token = ThreadsHouse.madeUpToken("ann")
        for (path, form) in [
            ("/api/threads", nil), ("/api/thread/add", "title=x"), ("/api/thread/delete/welcome", nil),
            ("/api/login", "email=a%40b.de&password=x"), ("/api/signup", "email=a%40b.de&password=x&fname=a&lname=b"),
        ] {
            let answer = try await house.ask(path, form: form, token: token)
            #expect(answer.status == 503, "\(path)")
            #expect(answer.text("error")?.contains("cannot be reached") == true, "\(path)")
        }
    }

    @Test("leaves no account behind whose name the database does not take")
    func halfAnAccount() async throws {
        let house = try ThreadsHouse(rules: "todo")
        for _ in 0..<2 {
            let answer = try await house.ask("/api/signup", form: "email=a%40b.de&password=secret1&fname=A&lname=B")
            #expect(answer.status == 403)
        }
    }
}

@Suite("The connections of users", .timeLimit(.minutes(15)))
struct UserDatabasesTests {
    private func token(_ uid: String) -> String { ThreadsHouse.madeUpToken(uid) }

    @Test("are kept and used again, up to their number; then the one goes that was not used for longest")
    func bound() async throws {
        let server = try ExampleServer("Threads", rules: "message-threads")
        let users = try UserDatabases(
            url: server.url, projectID: nil, limits: .init(countMax: 2, patience: .seconds(600)))
        defer { users.closeAll() }
        func database(_ uid: String) async throws -> ObjectIdentifier {
            try await users.perform(as: token(uid)) { user in
                _ = try await user.threads()
                return ObjectIdentifier(user)
            }
        }
        let ann = try await users.perform(as: token("ann")) { $0 }
        let bob = try await users.perform(as: token("bob")) { $0 }
        #expect(try await database("ann") == ObjectIdentifier(ann))
        _ = try await database("eve")
        #expect(users.count == 2)
        #expect(try await database("ann") == ObjectIdentifier(ann))
        #expect(try await database("bob") != ObjectIdentifier(bob))
        #expect(users.count == 2)
    }

    @Test("are not taken from those who use them")
    func inUse() async throws {
        let server = try ExampleServer("Threads", rules: "message-threads")
        let users = try UserDatabases(
            url: server.url, projectID: nil, limits: .init(countMax: 1, patience: .seconds(600)))
        defer { users.closeAll() }
        let bob = token("bob")
        try await users.perform(as: token("ann")) { ann in
            await #expect(throws: APIFailure(503, "Too many users are active: try later.")) {
                try await users.perform(as: bob) { _ in }
            }
            _ = try await ann.threads()
        }
        try await users.perform(as: bob) { _ = try await $0.threads() }
    }

    @Test("are not taken from their users by tokens that somebody has made up")
    func madeUp() async throws {
        let server = try ExampleServer("Threads", rules: "message-threads", isDevelopment: false)
        let users = try UserDatabases(
            url: server.url, projectID: "hearth", limits: .init(countMax: 1, patience: .seconds(600)))
        defer { users.closeAll() }
        let user = try await Auth(url: server.url).createUser(withEmail: "ann@example.com", password: "secret1").user
        let ann = try await user.getIDToken()
        func connection() async throws -> ObjectIdentifier {
            try await users.perform(as: ann) { user in
                _ = try await user.threads()
                return ObjectIdentifier(user)
            }
        }
        let first = try await connection()
        for uid in ["bob", "cem", "eve"] {
            await #expect(throws: APIFailure.notLoggedIn) {
                try await users.perform(as: token(uid)) { try await $0.threads() }
            }
        }
        #expect(try await connection() == first)
        #expect(users.count == 1)
    }

    @Test("are closed when nobody has used them for long")
    func idle() async throws {
        let server = try ExampleServer("Threads", rules: "message-threads")
        let patient = try UserDatabases(url: server.url, projectID: nil, limits: .init(patience: .seconds(600)))
        let impatient = try UserDatabases(
            url: server.url, projectID: nil, limits: .init(idleMax: .zero, patience: .seconds(600)))
        for users in [patient, impatient] {
            try await users.perform(as: token("ann")) { _ = try await $0.threads() }
            users.closeIdle()
        }
        #expect(patient.count == 1)
        #expect(impatient.count == 0)
        patient.closeAll()
        #expect(patient.count == 0)
    }
}
