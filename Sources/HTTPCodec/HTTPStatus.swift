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
    package static let notModified = HTTPStatus(304)
    package static let badRequest = HTTPStatus(400)
    package static let unauthorized = HTTPStatus(401)
    package static let forbidden = HTTPStatus(403)
    package static let notFound = HTTPStatus(404)
    package static let methodNotAllowed = HTTPStatus(405)
    package static let requestTimeout = HTTPStatus(408)
    package static let conflict = HTTPStatus(409)
    package static let preconditionFailed = HTTPStatus(412)
    package static let contentTooLarge = HTTPStatus(413)
    package static let targetTooLong = HTTPStatus(414)
    package static let tooManyRequests = HTTPStatus(429)
    package static let headTooLarge = HTTPStatus(431)
    package static let internalServerError = HTTPStatus(500)
    package static let notImplemented = HTTPStatus(501)
    package static let badGateway = HTTPStatus(502)
    package static let serviceUnavailable = HTTPStatus(503)
    package static let versionNotSupported = HTTPStatus(505)

    /// Informational: another response to the same request follows, except after 101.
    package var isInterim: Bool { code < 200 }
    /// A response with this status ends with its head (RFC 9112 6.3).
    package var excludesBody: Bool { isInterim || code == 204 || code == 304 }
}
