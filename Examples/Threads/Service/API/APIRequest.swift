import HTTPCodec

/// A request with its body.
struct APIRequest: Sendable {
    let head: RequestHead
    let body: [UInt8]

    /// The token behind `Authorization: Bearer`.
    func token() throws(APIFailure) -> String {
        guard let bearer = head.bearer else {
            throw APIFailure(.unauthorized, "Log in, and send the token as 'Authorization: BEARER token'.")
        }
        guard let token = String(validating: bearer, as: UTF8.self) else { throw .notLoggedIn }
        return token
    }

    /// The fields of the body.
    func fields() throws(APIFailure) -> BodyFields {
        try BodyFields(body, type: head.headers.first("content-type").map { String(decoding: $0, as: UTF8.self) })
    }
}
