/// Finds the handler of a request by its method and path.
///
///     var router = Router()
///     router.get("/rooms/{room}") { request in Response(text: "This is \(request.parameter("room")).") }
///
/// A name in braces matches one segment that is not empty. If several routes match, the first is used. A handler for
/// `GET` also answers `HEAD`.
public struct Router: Sendable {
    /// Answers a request. If it throws an ``HTTPError``, ``failed`` makes the answer; any other error is a 500.
    public typealias Handler = @Sendable (Request) async throws -> Response

    private struct Route: Sendable {
        let method: String
        let pattern: [Substring]
        let handler: Handler

        /// The values of the parameters; nil if the path does not match.
        func parameters(in segments: [String]) -> [String: String]? {
            guard segments.count == pattern.count else { return nil }
            var parameters: [String: String] = [:]
            for (word, segment) in zip(pattern, segments) {
                if word.hasPrefix("{"), word.hasSuffix("}") {
                    if segment.isEmpty { return nil }
                    parameters[String(word.dropFirst().dropLast())] = segment
                } else if word != segment {
                    return nil
                }
            }
            return parameters
        }
    }

    private var routes: [Route] = []

    /// Makes the answer to a failed request: a text, unless the program sets another form. The server adds `Allow` to a
    /// 405, and `WWW-Authenticate` to a 401.
    public var failed: @Sendable (HTTPError) -> Response = { Response($0.status, text: $0.message + "\n") }
    /// Receives errors of handlers other than ``HTTPError``. Clients do not see their text.
    public var logger: (@Sendable (any Error, Request) -> Void)?

    /// A router without routes.
    public init() {}

    /// Adds a route.
    ///
    /// - parameters:
    ///   - method: such as `GET`.
    ///   - pattern: a path such as `/rooms/{room}`.
    ///   - handler: answers the requests.
    public mutating func on(_ method: String, _ pattern: String, _ handler: @escaping Handler) {
        routes.append(Route(method: method, pattern: Self.segments(pattern), handler: handler))
    }

    /// Adds a route for `GET` and `HEAD`.
    public mutating func get(_ pattern: String, _ handler: @escaping Handler) { on("GET", pattern, handler) }

    /// Adds a route for `POST`.
    public mutating func post(_ pattern: String, _ handler: @escaping Handler) { on("POST", pattern, handler) }

    /// Adds a route for `PUT`.
    public mutating func put(_ pattern: String, _ handler: @escaping Handler) { on("PUT", pattern, handler) }

    /// Adds a route for `DELETE`.
    public mutating func delete(_ pattern: String, _ handler: @escaping Handler) { on("DELETE", pattern, handler) }

    private static func segments(_ path: String) -> [Substring] {
        path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    }

    /// The answer to a request, also in case of an error.
    package func answer(_ request: Request) async -> Response {
        do throws(HTTPError) { return try await handled(request) } catch { return answer(error) }
    }

    private func handled(_ request: Request) async throws(HTTPError) -> Response {
        let segments = request.segments
        let method = request.method
        var allowed: [String] = []
        for route in routes {
            guard let parameters = route.parameters(in: segments) else { continue }
            guard route.method == method || route.method == "GET" && method == "HEAD" else {
                if !allowed.contains(route.method) { allowed.append(route.method) }
                continue
            }
            var request = request
            request.parameters = parameters
            do { return try await route.handler(request) } catch {
                if let error = error as? HTTPError { throw error }
                logger?(error, request)
                throw HTTPError(500, "Something went wrong here.")
            }
        }
        if allowed.isEmpty { throw HTTPError(404, "There is nothing at this path.") }
        if allowed.contains("GET") { allowed.append("HEAD") }
        var error = HTTPError(405, "This path takes \(allowed.joined(separator: ", ")).")
        error.allowedMethods = allowed
        throw error
    }

    func answer(_ error: HTTPError) -> Response {
        var response = failed(error)
        if error.status == 401 { response.headers.append(("WWW-Authenticate", "Bearer")) }
        if !error.allowedMethods.isEmpty {
            response.headers.append(("Allow", error.allowedMethods.joined(separator: ", ")))
        }
        return response
    }
}
