import HearthEventLoop
import HearthEventLoopTransport
import HearthHTTPCodec
import HearthJSONValues
import HearthSystem
import HearthClientSession
import HearthConnection

/// HTTP requests to one server, one connection for each.
final class HTTPRequests: Sendable {
    let url: DatabaseURL
    let loop: EventLoop
    let options: ConnectionOptions
    let patience: Duration
    private let ownsLoop: Bool

    /// - parameter loop: a running loop; nil to start one that ends with this object.
    init(_ url: DatabaseURL, options: ConnectionOptions, patience: Duration, loop: EventLoop?) throws(AdminError) {
        (self.url, self.options, self.patience) = (url, options, patience)
        ownsLoop = loop == nil
        if let loop {
            self.loop = loop
            return
        }
        do throws(SystemError) {
            self.loop = try EventLoop(name: "hearth-admin")
            try self.loop.start()
        } catch {
            throw AdminError(.unavailable, "the system does not start a thread: \(error)")
        }
    }

    deinit { if ownsLoop { loop.shutDown(grace: .zero) } }

    static func url(_ text: String) throws(AdminError) -> DatabaseURL {
        do throws(DatabaseURLError) { return try DatabaseURL(text) } catch {
            throw AdminError(.invalidURL, "'\(text)' is not the URL of a server: \(error.reason)")
        }
    }

    /// The server's answer, with any status.
    ///
    /// - parameter target: path and query, encoded.
    func answer(
        _ method: HTTPMethod, _ target: String, _ body: [UInt8] = [], bearer: [UInt8]? = nil
    ) async throws(AdminError) -> HTTPAnswer {
        var call = HTTPCall(url.address(target: target))
        call.method = method
        call.contentType = "application/json"
        call.body = body
        call.bearer = bearer
        do throws(ConnectionError) {
            return try await call.anyAnswer(on: loop, options: options, patience: patience)
        } catch {
            throw AdminError(error, url)
        }
    }
}

extension HTTPAnswer {
    /// The body of a 200.
    func content() throws(AdminError) -> [UInt8] {
        if status == .ok { return body }
        throw AdminError(refusal: message, status: Int(status.code))
    }

    /// The body of a 200 that is a JSON object.
    func object() throws(AdminError) -> JSONObject {
        let content = try content()
        guard let object = (try? JSONValue(parsing: content))?.object else {
            throw AdminError(.unavailable, "the server does not answer with JSON")
        }
        return object
    }
}
