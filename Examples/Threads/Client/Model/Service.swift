import HearthExampleTerminal
import HearthClient
import HearthHTTP

/// What the service says is wrong.
struct ServiceError: Error, Hashable, CustomStringConvertible {
    /// Of HTTP.
    let status: Int
    /// A sentence.
    let description: String

    /// No user is logged in, or no longer.
    var isLoggedOut: Bool { status == 401 }
}

/// Asks the service, which is all that this program knows.
final class Service: Sendable {
    let url: String
    private let http: HTTPClient

    /// - parameters:
    ///   - url: the service's, `http://host:port` or `https`.
    ///   - patience: for how long the service may be silent.
    init(url: String, patience: Duration) throws {
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        http = try HTTPClient(timeout: patience)
    }

    /// Asks for something at a path.
    ///
    /// - parameter fields: the body of a POST; nil for a GET.
    /// - throws: `FieldProblems`, `ServiceError`, `Problem` if the service cannot be reached.
    func ask(_ path: String, _ fields: [String: String]? = nil, token: String? = nil) async throws -> DatabaseValue {
        let answer: Response
        do {
            if let fields {
                let json = Array(try DatabaseValue(fields).description.utf8)
                answer = try await http.post(url + path, json: json, bearer: token)
            } else {
                answer = try await http.get(url + path, bearer: token)
            }
        } catch let error as HTTPClientError {
            throw Problem("The service cannot be reached: \(error).")
        }
        guard let body = try? DatabaseValue(json: answer.body), case .object = body else {
            throw Problem("This is not the service of the threads: it answers \(answer.status).")
        }
        if answer.status == 200 { return body }
        if let problems = try? body["fields"].decoded(as: [String: String]?.self) { throw FieldProblems(problems) }
        throw ServiceError(
            status: answer.status, description: body["error"].string ?? "The service answers \(answer.status).")
    }
}

extension DatabaseValue {
    /// The text of a member of an answer.
    func need(_ name: String) throws(Problem) -> String {
        guard let text = self[name].string else { throw Problem("The service does not say '\(name)'.") }
        return text
    }

    /// The things in a list of an answer, which may be empty.
    func list<Item: Decodable & Sendable>(_ name: String, of type: Item.Type = Item.self) throws(Problem) -> [Item] {
        do throws(DatabaseError) { return try self[name].decoded(as: [Item]?.self) ?? [] } catch {
            throw Problem("The service answers something else than '\(name)': \(error).")
        }
    }
}
