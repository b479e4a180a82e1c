import HearthClientSession
import HearthEventLoop
import HearthEventLoopTransport
import HearthHTTPCodec
import HearthSystem

/// Sends requests over HTTP/1.1, with or without TLS, each on a separate connection.
///
///     let answer = try await client.get("https://weather.example.com/today.json")
///     if answer.status == 200 { … answer.body … }
///
/// Redirections are returned like other answers. One thread reads and writes; it ends with the last reference.
public final class HTTPClient: Sendable {
    private let loop: EventLoop
    private let timeout: Duration

    /// A client.
    ///
    /// - parameter timeout: how long a server may be silent.
    /// - throws: if the system cannot create a thread.
    public init(timeout: Duration = .seconds(60)) throws(HTTPClientError) {
        Signals.ignoreFailedWrites()
        self.timeout = timeout
        do throws(SystemError) {
            loop = try EventLoop(name: "http-client")
            try loop.start()
        } catch {
            throw HTTPClientError(description: "\(error)")
        }
    }

    deinit { loop.shutDown(grace: .zero) }

    /// Sends a GET request.
    ///
    /// - parameters:
    ///   - url: with `http:` or `https:`.
    ///   - bearer: a token for `Authorization: Bearer`.
    /// - returns: the answer, with any status. Its body has at most 64 MiB; header fields are not returned.
    /// - throws: ``HTTPClientError``, or `CancellationError`.
    public func get(_ url: String, bearer: String? = nil) async throws -> Response {
        try await answer(.get, url, bearer) { _ in }
    }

    /// Sends JSON to a URL.
    ///
    /// - parameters:
    ///   - url: with `http:` or `https:`.
    ///   - json: the text, which is sent unchanged.
    ///   - bearer: a token for `Authorization: Bearer`.
    /// - returns: as ``get(_:bearer:)``.
    /// - throws: as ``get(_:bearer:)``.
    public func post(_ url: String, json: [UInt8], bearer: String? = nil) async throws -> Response {
        try await answer(.post, url, bearer) { call in
            call.contentType = "application/json"
            call.body = json
        }
    }

    private func answer(
        _ method: HTTPMethod, _ url: String, _ bearer: String?, _ complete: (inout HTTPCall) -> Void
    ) async throws -> Response {
        let address: HTTPAddress
        do throws(DatabaseURLError) { address = try HTTPAddress(url) } catch {
            throw HTTPClientError(description: error.reason)
        }
        var call = HTTPCall(address)
        call.method = method
        call.bearer = bearer.map { Array($0.utf8) }
        complete(&call)
        do throws(ConnectionError) {
            let answer = try await call.anyAnswer(on: loop, patience: timeout)
            return Response(answer.status.code, body: answer.body)
        } catch {
            if case .cancelled = error { throw CancellationError() }
            throw HTTPClientError(description: "\(error)")
        }
    }
}

/// Why there is no answer.
public struct HTTPClientError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line for people.
    public let description: String
}
