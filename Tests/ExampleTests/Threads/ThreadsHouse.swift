import HearthEventLoop
import HearthHTTPCodec
import HearthClient
import HearthJSONValues
import HearthJSONWebTokens
import HearthTestSupport
import Testing

@testable import HearthThreadsService

/// The service in front of a server with its rules, on an empty folder.
final class ThreadsHouse: Sendable {
    let server: ExampleServer
    let service: ThreadsServer
    private let loop: EventLoop

    /// - parameter rules: those that are in force instead of its own.
    init(
        rules: String = "message-threads", isDevelopment: Bool = true,
        configure: (inout ThreadsServer.Configuration) -> Void = { _ in }
    ) throws {
        server = try ExampleServer("Threads", rules: rules, isDevelopment: isDevelopment)
        var configuration = ThreadsServer.Configuration(
            listen: "127.0.0.1:0", url: server.url, projectID: isDevelopment ? nil : "hearth")
        // A machine that runs all tests at once is slower than any that serves people.
        configuration.users.patience = .seconds(600)
        configure(&configuration)
        service = try ThreadsServer(configuration)
        loop = try EventLoop(name: "client")
        try loop.start()
    }

    deinit {
        service.stop()
        loop.shutDown(grace: .zero)
        loop.join()
    }

    var url: String { "http://\(service.address)" }
    var port: UInt16 { service.address.split(separator: ":").last.flatMap { UInt16($0) } ?? 0 }

    /// A token that somebody has made up, complete but not signed.
    static func madeUpToken(_ uid: String) -> String {
        let claims = JSONObject([
            "iss": .text("https://securetoken.google.com/hearth"), "aud": .text("hearth"), "sub": .text(uid),
            "user_id": .text(uid), "iat": .integer(1_700_000_000), "auth_time": .integer(1_700_000_000),
            "exp": .integer(4_000_000_000),
        ])
        return String(decoding: JSONWebToken.unsigned(claims), as: UTF8.self)
    }

    // MARK: Asking

    /// An answer with its body, without `status`.
    struct Answer {
        let status: Int
        let body: JSONObject

        func text(_ name: String) -> String? { body[name]?.text }
        func objects(_ name: String) -> [JSONObject] { (body[name]?.array ?? []).compactMap(\.object) }
    }

    /// Bytes as they are.
    func exchange(_ request: String) async -> [RawExchange.Answer] {
        await RawExchange.run(request, on: loop, port: port)
    }

    /// - parameter form: the body of a POST; nil for a GET.
    func ask(_ path: String, form: String? = nil, token: String? = nil) async throws -> Answer {
        try await ask(
            form == nil ? "GET" : "POST", path, body: form ?? "", type: "application/x-www-form-urlencoded",
            authorization: token.map { "BEARER \($0)" })
    }

    func ask(
        _ method: String, _ path: String, body: String, type: String? = nil, authorization: String? = nil
    ) async throws -> Answer {
        var request = "\(method) \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        if let type { request += "Content-Type: \(type)\r\n" }
        if let authorization { request += "Authorization: \(authorization)\r\n" }
        request += "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let answers = await exchange(request)
        let answer = try #require(answers.first)
        #expect(answers.count == 1)
        #expect(answer.field("content-type") == "application/json; charset=utf-8")
        var object = try #require((try JSONValue(parsing: answer.body)).object)
        #expect(object["status"]?.text == (answer.status == 200 ? "ok" : "error"))
        object["status"] = nil
        return Answer(status: answer.status, body: object)
    }

    /// Somebody with a new account.
    func signUp(_ firstName: String, _ lastName: String = "Ray") async throws -> (token: String, id: String) {
        let email = "\(firstName.lowercased())@example.com"
        let answer = try await ask(
            "/api/signup", form: "email=\(email)&password=secret1&fname=\(firstName)&lname=\(lastName)")
        return (try #require(answer.text("token")), try #require(answer.text("user_id")))
    }

    /// A new thread: its id.
    func addThread(_ title: String, _ token: String) async throws -> String {
        let answer = try await ask("/api/thread/add", form: "title=\(title)", token: token)
        return try #require(answer.body["thread"]?.object?["id"]?.text)
    }

    /// A new message: its id.
    func addMessage(_ text: String, to thread: String, _ token: String) async throws -> String {
        let answer = try await ask("/api/message/add", form: "thread_id=\(thread)&message=\(text)", token: token)
        return try #require(answer.body["message"]?.object?["id"]?.text)
    }
}
