import HearthHTTPCodec
package import HearthServerCodecs

/// Whose requests a server in development mode takes (Protocol.md 19.2): programs on this machine, and web pages
/// that come from it. Any credential is believed there, so any other page in the developer's browser would be an
/// administrator.
///
/// A page is known by header fields of its browser: `Host` is the name that it used (a foreign name may lead here
/// by DNS rebinding), `Origin`, `Referer` and `Sec-Fetch-Site` tell where it comes from. A request with none of these
/// comes from a program.
package struct DevelopmentAccess: Equatable, Sendable {
    private var hosts: [HostPattern] = []
    private var origins: [OriginPattern] = []
    /// The names and pages as they were given; empty for none.
    package private(set) var hostText = ""
    package private(set) var originText = ""

    package init() {}

    /// - parameters:
    ///   - hosts: further names of this machine between commas; nil if one of them is not a name.
    ///   - origins: further pages between commas: `name`, `*.name`, `name:port`, `scheme://name[:port]` or `null`.
    package init?(hosts: String, origins: String) {
        (hostText, originText) = (hosts, origins)
        for word in Self.words(hosts) {
            guard let pattern = HostPattern(word) else { return nil }
            self.hosts.append(pattern)
        }
        for word in Self.words(origins) {
            guard let pattern = OriginPattern(word) else { return nil }
            self.origins.append(pattern)
        }
    }

    private static func words(_ text: String) -> [Substring] {
        text.split(separator: ",").map { $0.trimmingPrefix { $0 == " " } }.map { word in
            word[..<(word.lastIndex { $0 != " " }.map(word.index(after:)) ?? word.startIndex)]
        }.filter { !$0.isEmpty }
    }

    /// Why a request is not taken: one line for people.
    package struct Refusal: Error, Equatable {
        package let text: String
    }

    /// Throws if the request does not come from this machine.
    package func check(_ head: RequestHead) throws(Refusal) {
        let host = try checkHost(head.host)
        if let origin = head.headers.first("origin") {
            guard isTrusted(origin, at: host) else { throw Self.foreign(origin) }
            return
        }
        // Script tags and images have no origin, but browsers send the page's site.
        let site = head.headers.first("sec-fetch-site").map { String(decoding: $0, as: UTF8.self) }
        switch site {
        case "same-origin", "none": return
        case "same-site" where host?.isLoopback ?? true: return
        default: break
        }
        // A link or an address that somebody opens: no page sees the answer.
        let isOpened =
            head.headers.first("sec-fetch-mode")?.elementsEqual("navigate".utf8) == true
            && head.headers.first("sec-fetch-dest")?.elementsEqual("document".utf8) == true
        if isOpened, head.method == .get || head.method == .head { return }
        if let page = head.headers.first("referer") {
            guard isTrusted(page, at: host) else { throw Self.foreign(page) }
        } else if site != nil {
            throw Refusal(text: "development mode does not take requests of foreign web pages: --dev-origins")
        }
    }

    /// The option names the origin of a request.
    package func names(_ origin: some Collection<UInt8>) -> Bool {
        let isNull = origin.elementsEqual("null".utf8)
        let parsed = WebOrigin(origin)
        return origins.contains { pattern in
            if case .null = pattern { isNull } else { parsed.map { pattern.matches($0) } ?? false }
        }
    }

    /// Nil for a request without a name, which no browser sends.
    private func checkHost(_ field: ArraySlice<UInt8>) throws(Refusal) -> HostName? {
        if field.isEmpty { return nil }
        if let host = HostName.split(field)?.0 {
            if host.isLoopback || host.isAndroidHost || hosts.contains(where: { $0.matches(host) }) { return host }
        }
        throw Refusal(
            text: "development mode answers on localhost only, not as \(Self.name(field)): "
                + "--dev-hosts names further hosts")
    }

    /// A page of this machine may come from any port and by any name of it.
    private func isTrusted(_ origin: ArraySlice<UInt8>, at host: HostName?) -> Bool {
        if names(origin) { return true }
        guard let page = WebOrigin(origin)?.host else { return false }
        return page.isLoopback || page == host
    }

    private static func foreign(_ page: ArraySlice<UInt8>) -> Refusal {
        let origin = page.elementsEqual("null".utf8) ? "null" : name(page.prefix { $0 != UInt8(ascii: "?") })
        return Refusal(
            text: "development mode does not take requests of web pages at \(origin): "
                + "--dev-origins names further origins")
    }

    private static func name(_ field: ArraySlice<UInt8>) -> String {
        String(decoding: field.prefix(256), as: UTF8.self)
    }
}

/// A page's origin as an option gives it.
enum OriginPattern: Equatable, Sendable {
    /// Files and sandboxed frames.
    case null
    /// Nil means any scheme; without a scheme, no port means any port.
    case page(scheme: String?, host: HostPattern, port: UInt16?)

    init?(_ text: some StringProtocol) {
        if text == "null" {
            self = .null
            return
        }
        var rest = Substring(text)
        var scheme: String?
        if let range = rest.firstRange(of: "://") {
            scheme = rest[..<range.lowerBound].lowercased()
            rest = rest[range.upperBound...]
        }
        var port: UInt16?
        if let colon = rest.lastIndex(of: ":"), rest.firstIndex(of: ":") == colon {
            guard let number = UInt16(rest[rest.index(after: colon)...]) else { return nil }
            port = number
            rest = rest[..<colon]
        }
        guard let host = HostPattern(rest) else { return nil }
        self = .page(scheme: scheme, host: host, port: port)
    }

    func matches(_ origin: WebOrigin) -> Bool {
        guard case .page(let scheme, let host, let port) = self, host.matches(origin.host) else { return false }
        guard let scheme else { return port == nil || port == origin.port }
        return scheme == origin.scheme && port == origin.port
    }
}
