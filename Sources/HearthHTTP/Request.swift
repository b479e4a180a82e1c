import HearthHTTPCodec
package import HearthServerCodecs

/// A request with its whole body.
public struct Request: Sendable {
    private let head: RequestHead
    /// What the words in braces of the route stand for.
    var parameters: [String: String] = [:]
    /// The body as it came; empty for a request without one.
    public let body: [UInt8]

    package init(_ head: RequestHead, body: [UInt8]) { (self.head, self.body) = (head, body) }

    /// The method's name, such as `GET`.
    public var method: String { String(decoding: head.methodName, as: UTF8.self) }

    /// The path as it came, percent escapes included.
    public var path: String { String(decoding: head.path, as: UTF8.self) }

    /// The segments of the path without their percent escapes: `/a%20b/` is `a b` and an empty one.
    var segments: [String] { head.segments.map { String(decoding: $0, as: UTF8.self) } }

    /// What a word in braces of the route stands for in the path, without percent escapes; empty if the route does not
    /// have the word.
    public func parameter(_ name: String) -> String { parameters[name] ?? "" }

    /// The value of a parameter of the query, decoded; nil if it is absent or not UTF-8.
    public func query(_ name: String) -> String? {
        head.query.first { $0.name.elementsEqual(name.utf8) }.flatMap { String(validating: $0.value, as: UTF8.self) }
    }

    /// The value of a header field; the values of several with this name are joined by commas. Small and capital
    /// letters are the same in names.
    public func header(_ name: String) -> String? {
        head.headers.combined(name.lowercased()).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The type of the body without its parameters, in small letters: `application/json`; nil if none is named.
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

    /// The fields of a form (`application/x-www-form-urlencoded`) in the body, decoded. Of several with one name the
    /// last counts.
    ///
    /// - throws: 415 for a body of another type, 400 for one that is not UTF-8.
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
