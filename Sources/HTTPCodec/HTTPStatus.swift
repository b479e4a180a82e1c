/// A status code (RFC 9110 section 15).
package struct HTTPStatus: Equatable, Sendable {
    /// 100 to 999.
    package let code: Int

    package init(_ code: Int) {
        precondition((100...999).contains(code), "a status code has three digits")
        self.code = code
    }

    package static let switchingProtocols = HTTPStatus(101)
    package static let ok = HTTPStatus(200)
    package static let noContent = HTTPStatus(204)
    package static let badRequest = HTTPStatus(400)
    package static let unauthorized = HTTPStatus(401)
    package static let forbidden = HTTPStatus(403)
    package static let notFound = HTTPStatus(404)

    /// Informational: another response to the same request follows, except after 101.
    package var isInterim: Bool { code < 200 }
    /// A response with this status ends with its head (RFC 9112 6.3).
    package var excludesBody: Bool { isInterim || code == 204 || code == 304 }
}
