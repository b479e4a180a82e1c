import HTTPCodec
import JSONTree

/// One answer, complete in memory.
struct HTTPResponse {
    enum ContentType {
        case json, text

        var value: StaticString {
            switch self {
            case .json: "application/json; charset=utf-8"
            case .text: "text/plain; charset=utf-8"
            }
        }
    }

    var status: HTTPStatus
    var contentType = ContentType.json
    var headers: [(name: StaticString, value: [UInt8])] = []
    var body: [UInt8] = []

    /// JSON text.
    init(_ status: HTTPStatus = .ok, json: [UInt8]) {
        self.status = status
        body = json
    }

    init(text: StaticString) {
        status = .ok
        contentType = .text
        body = text.withUTF8Buffer { Array($0) }
    }

    /// The error body that all clients read (rest 6).
    init(_ status: HTTPStatus, error: String) {
        self.status = status
        body = Array("{\n  \"error\" : ".utf8)
        JSONText.appendQuoted(Array(error.utf8), to: &body)
        body += "\n}\n".utf8
    }

    /// Nothing but the status.
    static func empty(_ status: HTTPStatus) -> HTTPResponse { HTTPResponse(status, json: []) }

    /// Everything is allowed from everywhere: access is decided by credentials and rules (rest 9).
    static func preflight(for head: RequestHead) -> HTTPResponse {
        var response = empty(.noContent)
        response.headers.append(("Access-Control-Allow-Methods", Array("GET, PUT, POST, PATCH, DELETE, OPTIONS".utf8)))
        let asked = head.headers.combined("access-control-request-headers")
        let usual = "Authorization, Content-Type, X-Firebase-ETag, If-Match, If-None-Match, X-HTTP-Method-Override"
        response.headers.append(("Access-Control-Allow-Headers", asked ?? Array(usual.utf8)))
        response.headers.append(("Access-Control-Max-Age", Array("3600".utf8)))
        if head.headers.first("access-control-request-private-network") != nil {
            response.headers.append(("Access-Control-Allow-Private-Network", Array("true".utf8)))
        }
        return response
    }

    func write(with writer: inout ResponseWriter, into out: inout [UInt8]) {
        writer.begin(status, date: HTTPDate(secondsSince1970: Int(WallClock.milliseconds / 1000)), into: &out)
        if !status.excludesBody { writer.header("Content-Type", contentType.value, into: &out) }
        writer.header("Cache-Control", "no-cache", into: &out)
        writer.header("Access-Control-Allow-Origin", "*", into: &out)
        writer.header("X-Content-Type-Options", "nosniff", into: &out)
        for (name, value) in headers { writer.header(name, value.span, into: &out) }
        writer.end(body: body.span, into: &out)
    }
}
