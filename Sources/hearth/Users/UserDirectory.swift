import EventLoop
import HTTPCodec
import HearthClient
import HearthShell
import JSONTree
import JSONWebTokens

/// The accounts of a server, as administrators reach them (accounts.md 4). Each call is a command: it prints, and
/// answers how the command ends.
struct UserDirectory: Sendable {
    private let run: ClientRun
    /// Where the accounts of the project are.
    private let place: String

    init(_ arguments: Arguments) throws(UsageError) {
        run = try ClientRun("users", arguments)
        let tenant = arguments["tenant"].map { "/tenants/" + Self.encoded($0) } ?? ""
        let project = Self.encoded(arguments["project"] ?? "-")
        place = "/identitytoolkit.googleapis.com/v1/projects/\(project)\(tenant)/accounts"
    }

    private static func encoded(_ text: String) -> String { DatabaseURL.encoded(Array(text.utf8)) }

    // MARK: Requests

    /// Runs the body of a command. One token is asked for.
    func perform(
        _ body: @escaping @Sendable (Session) async throws(ConnectionError) -> ExitCode
    ) -> ExitCode {
        let (run, place) = (run, place)
        return run.onLoop { loop throws(ConnectionError) in
            try await body(Session(run: run, loop: loop, place: place, token: try await run.token(on: loop)))
        }
    }

    func complain(_ message: String, _ code: ExitCode) -> ExitCode { run.complain(message, code) }

    func announce(_ what: String) { run.announce(what) }

    /// The requests of one command.
    struct Session: Sendable {
        let run: ClientRun
        let loop: EventLoop
        let place: String
        let token: [UInt8]

        func post(_ operation: String, _ body: JSONObject) async throws(ConnectionError) -> JSONObject {
            try await ask(.post, place + operation, body.bytes)
        }

        private func ask(
            _ method: HTTPMethod, _ target: String, _ body: [UInt8] = []
        ) async throws(ConnectionError) -> JSONObject {
            let answer = try await run.administer(method, target, body, token: token, on: loop)
            guard let object = (try? JSONValue(parsing: answer))?.object else {
                throw .protocolError("the server does not answer with JSON")
            }
            return object
        }

        /// The users in the order of their ids, from behind a page; nil behind the last.
        func page(
            after last: String?, withPasswords: Bool = false
        ) async throws(ConnectionError) -> (answer: JSONObject, users: [JSONObject], next: String?) {
            let start = last.map { "&nextPageToken=" + UserDirectory.encoded($0) } ?? ""
            let passwords = withPasswords ? "" : "&returnPasswords=false"
            let answer = try await ask(.get, place + ":batchGet?maxResults=1000\(start)\(passwords)")
            let users = (answer["users"]?.array ?? []).compactMap(\.object)
            return (answer, users, answer["nextPageToken"]?.text)
        }

        /// All about a user, by id, address or number.
        func user(_ name: String) async throws(ConnectionError) -> JSONObject {
            let field = name.contains("@") ? "email" : name.hasPrefix("+") ? "phoneNumber" : "localId"
            let found = try await post(":lookup", JSONObject([field: .array([.text(name)])]))
            guard let user = found["users"]?.array?.first?.object else {
                throw .refused(status: "there is no user '\(name)'", text: "")
            }
            return user
        }

        func id(_ name: String) async throws(ConnectionError) -> JSONValue { try await user(name)["localId"] ?? .null }
    }

    // MARK: Commands

    func list(isJSON: Bool) -> ExitCode {
        perform { session throws(ConnectionError) in
            var last: String?
            repeat {
                let page = try await session.page(after: last)
                for user in page.users {
                    StandardOutput.line(isJSON ? String(decoding: user.bytes, as: UTF8.self) : Self.line(of: user))
                }
                last = page.next
            } while last != nil
            return .success
        }
    }

    private static func line(of user: JSONObject) -> String {
        var words = [user["localId"]?.text ?? ""]
        words.append(user["email"]?.text ?? user["phoneNumber"]?.text ?? "-")
        words.append(user["displayName"]?.text ?? "-")
        if user["disabled"]?.bool == true { words.append("disabled") }
        if user["customAttributes"] != nil { words.append("claims") }
        // A name may hold anything; a line is a user.
        return words.map(\.printable).joined(separator: "\t")
    }

    func get(_ name: String) -> ExitCode {
        perform { session throws(ConnectionError) in
            StandardOutput.write(JSONLayout(isPretty: true).text(try await session.user(name).bytes))
            return .success
        }
    }

    func create(_ members: JSONObject) -> ExitCode {
        perform { session throws(ConnectionError) in
            StandardOutput.line(try await session.post("", members)["localId"]?.text?.printable ?? "")
            return .success
        }
    }

    func update(_ names: [String], _ members: JSONObject) -> ExitCode {
        perform { session throws(ConnectionError) in
            for name in names {
                var request = members
                request["localId"] = try await session.id(name)
                _ = try await session.post(":update", request)
            }
            return .success
        }
    }

    func revoke(_ names: [String]) -> ExitCode {
        update(names, JSONObject(["validSince": .text(String(WallClock.milliseconds / 1000))]))
    }

    func delete(_ names: [String]) -> ExitCode {
        announce("delete \(names.joined(separator: ", "))")
        return perform { session throws(ConnectionError) in
            for name in names {
                _ = try await session.post(":delete", JSONObject(["localId": try await session.id(name)]))
            }
            return .success
        }
    }

    func claims(of name: String) -> ExitCode {
        perform { session throws(ConnectionError) in
            StandardOutput.line(try await session.user(name)["customAttributes"]?.text ?? "{}")
            return .success
        }
    }
}
