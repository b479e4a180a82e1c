import HearthHTTPCodec
import HearthServerCodecs
import HearthJSONValues
import HearthAccess
import HearthHTTPResponses
import HearthREST
import HearthRealtimeSessions

/// The console: files that anybody may have who reaches the listener of administrators. All data comes over the
/// realtime connection that its page opens, with a credential.
extension HTTPConnection {
    func answerConsole(_ name: String, _ head: RequestHead, _ writer: ResponseWriter) {
        // No page may read it; its own requests need no permission.
        let others = readers
        readers = .none
        defer { readers = others }
        let configuration = context.services.configuration
        if configuration.isDevelopment, let refusal = Self.refusal(of: head) {
            return respond(HTTPResponse(.forbidden, error: refusal), with: writer)
        }
        if name == "session" {
            let session = JSONObject([
                "development": .bool(configuration.isDevelopment),
                "database": .text(context.endpoints.configuration.defaultDatabase),
            ])
            var response = HTTPResponse(json: session.bytes)
            response.cacheControl = "no-store"
            return respond(response.forConsole, with: writer)
        }
        guard let file = context.endpoints.console[name] else {
            return respond(RESTError.notFound.response.forConsole, with: writer)
        }
        let isCompressed = head.headers.combined("accept-encoding").map { Self.takesGzip($0) } ?? false
        let tag = isCompressed ? file.compressedTag : file.tag
        let isKnown = head.headers.combined("if-none-match").map { Self.list($0, names: tag) } ?? false
        var response = isKnown ? HTTPResponse.empty(.notModified) : HTTPResponse(file, isCompressed: isCompressed)
        response.headers.append(("ETag", tag))
        response.headers.append(("Vary", Array("Accept-Encoding".utf8)))
        respond(response.forConsole, with: writer)
    }

    /// A person who opens the address of a server in development mode in a browser is led to the console, or told where
    /// data is. Nil for programs, and for paths with their own answer.
    func guide(_ head: RequestHead, _ route: Route) -> HTTPResponse? {
        guard role == .administrators, context.services.configuration.isDevelopment,
            head.method == .get || head.method == .head,
            let wanted = head.headers.combined("accept"), String(decoding: wanted, as: UTF8.self).contains("text/html")
        else { return nil }
        if head.path.elementsEqual("/".utf8) {
            var response = HTTPResponse(HTTPStatus(302), text: "The console is at /console/.\n")
            response.headers.append(("Location", Array("/console/".utf8)))
            return response
        }
        guard case .unknown = route else { return nil }
        let path = String(decoding: head.path, as: UTF8.self)
        return HTTPResponse(
            HTTPStatus(404),
            text: "There is no page at \(path). Its data, as JSON, is at \(path).json; the console is at /console/.\n")
    }

    /// In development mode the page has an administrator's rights without signing in, so it is served only to pages and
    /// under names of this machine, even if the options name others.
    private static func refusal(of head: RequestHead) -> String? {
        if !head.host.isEmpty, HostName.split(head.host)?.0.isLoopback != true {
            return "the console of a server in development mode is at localhost only"
        }
        if let origin = head.headers.first("origin"), WebOrigin(origin)?.host.isLoopback != true {
            return "the console of a server in development mode is for pages of this machine only"
        }
        return nil
    }

    private static func takesGzip(_ field: [UInt8]) -> Bool {
        String(decoding: field, as: UTF8.self).lowercased().split(separator: ",").contains { element in
            let parts = element.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            return parts.first == "gzip" && !parts.dropFirst().contains { $0.wholeMatch(of: /q=0(\.0*)?/) != nil }
        }
    }

    private static func list(_ field: [UInt8], names tag: [UInt8]) -> Bool {
        field.split(separator: UInt8(ascii: ",")).contains { element in
            var text = element.drop { $0 == UInt8(ascii: " ") }
            while text.last == UInt8(ascii: " ") { text.removeLast() }
            if text.elementsEqual("*".utf8) { return true }
            return (text.starts(with: "W/".utf8) ? text.dropFirst(2) : text).elementsEqual(tag)
        }
    }
}

extension HTTPResponse {
    fileprivate init(_ file: ConsoleFiles.File, isCompressed: Bool) {
        self.init(json: isCompressed ? file.compressed : file.bytes)
        contentType = file.type
        if isCompressed { headers.append(("Content-Encoding", Array("gzip".utf8))) }
    }

    /// With header fields that isolate the page: scripts and styles come only from its own files, it cannot be framed,
    /// and no referrer is sent.
    fileprivate var forConsole: HTTPResponse {
        var response = self
        for (name, value) in Self.consoleHeaders { response.headers.append((name, Array("\(value)".utf8))) }
        return response
    }

    private static let consoleHeaders: [(name: StaticString, value: StaticString)] = [
        (
            "Content-Security-Policy",
            """
            default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
            base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
            trusted-types 'none'
            """
        ),
        ("Referrer-Policy", "no-referrer"), ("X-Frame-Options", "DENY"),
        ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
        (
            "Permissions-Policy",
            "camera=(), microphone=(), geolocation=(), payment=(), usb=(), serial=(), bluetooth=()"
        ),
    ]
}
