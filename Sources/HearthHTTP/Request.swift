import HearthHTTPCodec
package import HearthServerCodecs

/// A request with its whole body.
public struct Request: Sendable {
    private let head: RequestHead
    /// The values of the route's parameters.
    var parameters: [String: String] = [:]
    /// The body as received; empty for a request without one.
    public let body: [UInt8]

    package init(_ head: RequestHead, body: [UInt8]) { (self.head, self.body) = (head, body) }

    /// The method's name, such as `GET`.
    public var method: String { String(decoding: head.methodName, as: UTF8.self) }

    /// The path as received, including percent escapes.
    public var path: String { String(decoding: head.path, as: UTF8.self) }

    /// The segments of the path, percent-decoded: `/a%20b/` is `a b` and an empty one.
    var segments: [String] { head.segments.map { String(decoding: $0, as: UTF8.self) } }

    /// The value of a route parameter (a name in braces), percent-decoded; empty if the route does not have the
    /// parameter.
    public func parameter(_ name: String) -> String { parameters[name] ?? "" }

    /// The value of a query parameter, decoded; nil if it is missing or not UTF-8.
    public func query(_ name: String) -> String? {
        head.query.first { $0.name.elementsEqual(name.utf8) }.flatMap { String(validating: $0.value, as: UTF8.self) }
    }

    /// The value of a header field; the values of several with this name are joined by commas. Names are
    /// case-insensitive.
    public func header(_ name: String) -> String? {
        head.headers.combined(name.lowercased()).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The media type of the body without its parameters, in lower case: `application/json`; nil if it is missing.
    public var contentType: String? {
        header("content-type").map { String($0.prefix { $0 != ";" && $0 != " " }).lowercased() }
    }

    /// The token after `Authorization: Bearer`.
    ///
    /// - throws: 401 if there is none.
    public func bearerToken() throws(HTTPError) -> String {
        guard let bearer = head.bearer, let token = String(validating: bearer, as: UTF8.self) else {
            throw HTTPError(401, "A token is needed: 'Authorization: Bearer TOKEN'.")
        }
        return token
    }

    /// The fields of a form (`application/x-www-form-urlencoded`) in the body, decoded. If a name occurs several times,
    /// the last one counts.
    ///
    /// - throws: 415 for a body of another type, 400 for one that is not valid UTF-8.
    public func form() throws(HTTPError) -> [String: String] {
        if let type = contentType, type != "application/x-www-form-urlencoded" {
            throw HTTPError(415, "The body must be application/x-www-form-urlencoded, not \(type).")
        }
        var fields: [String: String] = [:]
        for parameter in QueryString(body[...]) {
            guard let name = String(validating: parameter.name, as: UTF8.self),
                let value = String(validating: parameter.value, as: UTF8.self)
            else { throw HTTPError(400, "The body is not UTF-8.") }
            fields[name] = value
        }
        return fields
    }
}
