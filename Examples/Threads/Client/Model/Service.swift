import HearthEventLoop
import HearthExampleKit
import HearthHTTPCodec
import HearthClient
import HearthJSONValues

/// What the service says is wrong.
struct ServiceError: Error, Hashable, CustomStringConvertible {
    /// Of HTTP.
    let status: Int
    /// A sentence.
    let description: String

    /// Nobody is logged in, or not any more.
    var isLoggedOut: Bool { status == 401 }
}

/// Asks the service, which is all that this program knows.
final class Service: Sendable {
    let url: String
    private let loop: EventLoop

    /// - parameter url: the service's, `http://host:port` or `https`.
    init(url: String) throws {
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        loop = try EventLoop(name: "service")
        try loop.start()
    }

    deinit { loop.shutDown(grace: .zero) }

    /// Asks for something at a path.
    ///
    /// - parameter fields: the body of what is posted; nil to get something.
    /// - throws: `FieldProblems`, `ServiceError`, `Problem` if the service cannot be reached.
    func ask(_ path: String, _ fields: [String: String]? = nil, token: String? = nil) async throws -> JSONObject {
        let address: HTTPAddress
        do throws(DatabaseURLError) { address = try HTTPAddress(url + path) } catch { throw Problem(error.reason) }
        var call = HTTPCall(address)
        call.bearer = token.map { Array($0.utf8) }
        if let fields {
            call.method = .post
            call.contentType = "application/json"
            var body = JSONObject()
            for (name, text) in fields { body[name] = .text(text) }
            call.body = body.bytes
        }
        let answer: HTTPAnswer
        do throws(ConnectionError) { answer = try await call.anyAnswer(on: loop, patience: .seconds(60)) } catch {
            if case .cancelled = error { throw CancellationError() }
            throw Problem("The service cannot be reached: \(error).")
        }
        guard let body = (try? JSONValue(parsing: answer.body))?.object else {
            throw Problem("This is not the service of the threads: it answers \(answer.status.code).")
        }
        if answer.status == .ok { return body }
        if let problems = body["fields"]?.object {
            throw FieldProblems(
                Dictionary(
                    uniqueKeysWithValues: problems.members.map { member in
                        (String(decoding: member.name, as: UTF8.self), member.value.text ?? "")
                    }))
        }
        throw ServiceError(
            status: answer.status.code, description: body["error"]?.text ?? "The service answers \(answer.status.code)."
        )
    }
}

extension JSONObject {
    /// The text of a member.
    func need(_ name: String) throws(Problem) -> String {
        guard let text = self[name]?.text else { throw Problem("The service does not say '\(name)'.") }
        return text
    }

    /// What is made of the objects in a list.
    func needList<Item>(_ name: String, _ make: (JSONObject) throws(Problem) -> Item) throws(Problem) -> [Item] {
        guard let list = self[name]?.array else { throw Problem("The service does not say '\(name)'.") }
        var items: [Item] = []
        for element in list { items.append(try make(element.object ?? JSONObject())) }
        return items
    }
}
