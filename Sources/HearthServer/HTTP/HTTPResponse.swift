import HearthDatabaseHost
import HearthEventLoop
import HearthHTTPCodec
import HearthJSONTree
import HearthSystem

/// One answer.
struct HTTPResponse: Sendable {
    enum ContentType: Sendable {
        case json, javaScript, css, svg, html, text, eventStream, metrics

        var value: StaticString {
            switch self {
            case .json: "application/json; charset=utf-8"
            case .javaScript: "text/javascript; charset=utf-8"
            case .css: "text/css; charset=utf-8"
            case .svg: "image/svg+xml"
            case .html: "text/html; charset=utf-8"
            case .text: "text/plain; charset=utf-8"
            case .metrics: MetricsText.contentType
            // Clients decode by the character set named here (rest.md 1).
            case .eventStream: "text/event-stream; charset=utf-8"
            }
        }
    }

    enum Body: Sendable {
        /// All of it.
        case text([UInt8])
        /// It follows in pieces, and its length is not known.
        case pieces
        /// Events follow, up to the end of the connection.
        case events
    }

    var status: HTTPStatus
    var contentType = ContentType.json
    var cacheControl: StaticString = "no-cache"
    var headers: [(name: StaticString, value: [UInt8])] = []
    var body: Body

    /// The body does not come with the head.
    var hasPieces: Bool { if case .text = body { false } else { true } }

    /// JSON text.
    init(_ status: HTTPStatus = .ok, json: [UInt8]) {
        self.status = status
        body = .text(json)
    }

    /// Plain text.
    init(_ status: HTTPStatus = .ok, text: String) {
        self.status = status
        contentType = .text
        body = .text(Array(text.utf8))
    }

    /// The error body that all clients read (rest.md 6).
    init(_ status: HTTPStatus, error: String) {
        var text = Array("{\n  \"error\" : ".utf8)
        JSONText.appendQuoted(Array(error.utf8), to: &text)
        text += "\n}\n".utf8
        self.init(status, json: text)
    }

    /// - parameter isDetailed: for administrators.
    static func readiness(_ readiness: Readiness, isDetailed: Bool) -> HTTPResponse {
        guard let problem = isDetailed ? readiness.problem : readiness.publicProblem else {
            return HTTPResponse(text: "ready\n")
        }
        return HTTPResponse(.serviceUnavailable, text: "not ready: \(problem)\n")
    }

    /// Nothing but the status.
    static func empty(_ status: HTTPStatus) -> HTTPResponse { HTTPResponse(status, json: []) }

    /// The head of an event stream (rest.md 4). Proxies are asked to pass on each event at once.
    static let eventStream: HTTPResponse = {
        var response = HTTPResponse(json: [])
        response.contentType = .eventStream
        response.headers = [("X-Accel-Buffering", Array("no".utf8))]
        response.body = .events
        return response
    }()

    /// The list that tools show (rest.md 1).
    static func databases(_ names: [String]) -> HTTPResponse {
        HTTPResponse(json: Array("[\(names.map { "{\"name\":\"\($0)\"}" }.joined(separator: ","))]".utf8))
    }

    /// Every method and header is allowed: access is decided by credentials and rules (rest.md 1).
    ///
    /// - parameter fromPublicPages: also to pages of public addresses, while this server has a private one.
    static func preflight(for head: RequestHead, fromPublicPages: Bool = true) -> HTTPResponse {
        var response = empty(.noContent)
        response.headers.append(("Access-Control-Allow-Methods", Array("GET, PUT, POST, PATCH, DELETE, OPTIONS".utf8)))
        let asked = head.headers.combined("access-control-request-headers")
        let usual = "Authorization, Content-Type, X-Firebase-ETag, If-Match, If-None-Match, X-HTTP-Method-Override"
        response.headers.append(("Access-Control-Allow-Headers", asked ?? Array(usual.utf8)))
        response.headers.append(("Access-Control-Max-Age", Array("3600".utf8)))
        if fromPublicPages, head.headers.first("access-control-request-private-network") != nil {
            response.headers.append(("Access-Control-Allow-Private-Network", Array("true".utf8)))
        }
        return response
    }

    /// Writes everything but the body, whose framing it says. True if the body must follow: the answer to a HEAD has
    /// none.
    ///
    /// - parameter readers: the web pages that may read the response.
    func writeHead(
        with writer: inout ResponseWriter, readers: PermittedReaders = .all, into out: inout [UInt8]
    ) -> Bool {
        if case .events = body { writer.close() }
        writer.begin(status, date: HTTPDate(secondsSince1970: Int(WallClock.milliseconds / 1000)), into: &out)
        if !status.excludesBody { writer.header("Content-Type", contentType.value, into: &out) }
        writer.header("Cache-Control", cacheControl, into: &out)
        switch readers {
        case .all: writer.header("Access-Control-Allow-Origin", "*", into: &out)
        case .origin(let origin):
            writer.header("Access-Control-Allow-Origin", origin.span, into: &out)
            writer.header("Vary", "Origin", into: &out)
        case .none: break
        }
        writer.header("Access-Control-Expose-Headers", "ETag, X-Hearth-Denial", into: &out)
        writer.header("X-Content-Type-Options", "nosniff", into: &out)
        for (name, value) in headers { writer.header(name, value.span, into: &out) }
        switch body {
        case .text(let text): return writer.end(contentLength: text.count, into: &out)
        case .pieces:
            writer.beginStream(into: &out)
            return true
        case .events:
            writer.beginUntilClose(into: &out)
            return true
        }
    }
}

/// The web pages that may read a response (rest.md 1).
enum PermittedReaders: Equatable, Sendable {
    case all
    /// Those of the origin that has asked.
    case origin([UInt8])
    case none
}
