package import HearthHTTPCodec
package import HearthServerCodecs
import HearthJSONTree
import HearthSystem

/// One answer.
package struct HTTPResponse: Sendable {
    package enum ContentType: Sendable {
        case json, javaScript, css, svg, html, text, eventStream, metrics

        var value: StaticString {
            switch self {
            case .json: "application/json; charset=utf-8"
            case .javaScript: "text/javascript; charset=utf-8"
            case .css: "text/css; charset=utf-8"
            case .svg: "image/svg+xml"
            case .html: "text/html; charset=utf-8"
            case .text: "text/plain; charset=utf-8"
            case .metrics: "text/plain; version=0.0.4; charset=utf-8"
            // Clients decode by the character set named here (rest.md 1).
            case .eventStream: "text/event-stream; charset=utf-8"
            }
        }
    }

    package enum Body: Sendable {
        /// All of it.
        case text([UInt8])
        /// It follows in pieces, and its length is not known.
        case pieces
        /// Events follow, up to the end of the connection.
        case events
    }

    package var status: HTTPStatus
    package var contentType = ContentType.json
    package var cacheControl: StaticString = "no-cache"
    package var headers: [(name: StaticString, value: [UInt8])] = []
    package var body: Body

    /// The body does not come with the head.
    package var hasPieces: Bool { if case .text = body { false } else { true } }

    /// JSON text.
    package init(_ status: HTTPStatus = .ok, json: [UInt8]) {
        self.status = status
        body = .text(json)
    }

    /// Plain text.
    package init(_ status: HTTPStatus = .ok, text: String) {
        self.status = status
        contentType = .text
        body = .text(Array(text.utf8))
    }

    /// The error body that all clients read (rest.md 6).
    package init(_ status: HTTPStatus, error: String) {
        var text = Array("{\n  \"error\" : ".utf8)
        JSONText.appendQuoted(Array(error.utf8), to: &text)
        text += "\n}\n".utf8
        self.init(status, json: text)
    }

    /// Nothing but the status.
    package static func empty(_ status: HTTPStatus) -> HTTPResponse { HTTPResponse(status, json: []) }

    /// The head of an event stream (rest.md 4). Proxies are asked to pass on each event at once.
    package static let eventStream: HTTPResponse = {
        var response = HTTPResponse(json: [])
        response.contentType = .eventStream
        response.headers = [("X-Accel-Buffering", Array("no".utf8))]
        response.body = .events
        return response
    }()

    /// The list that tools show (rest.md 1).
    package static func databases(_ names: [String]) -> HTTPResponse {
        HTTPResponse(json: Array("[\(names.map { "{\"name\":\"\($0)\"}" }.joined(separator: ","))]".utf8))
    }

    /// Every method and header is allowed: access is decided by credentials and rules (rest.md 1).
    ///
    /// - parameter fromPublicPages: also to pages of public addresses, while this server has a private one.
    package static func preflight(for head: RequestHead, fromPublicPages: Bool = true) -> HTTPResponse {
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
    package func writeHead(
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
        writer.header("Access-Control-Expose-Headers", "ETag", into: &out)
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
package enum PermittedReaders: Equatable, Sendable {
    case all
    /// Those of the origin that has asked.
    case origin([UInt8])
    case none
}
