package import HearthEventLoop
import HearthHTTPCodec
package import HearthServerCodecs
import HearthIdentity
import HearthJSONValues

/// One request about accounts, with the needed parts of its head.
package struct IdentityRequest: Sendable {
    let route: IdentityRoute
    let method: HTTPMethod?
    let query: QueryString
    let body: [UInt8]
    /// The body is a form, not JSON.
    let isForm: Bool
    let apiKey: String?
    /// The id of the app that SDKs send.
    let app: String?
    /// The bearer token; another scheme is as good as none (accounts.md 2).
    let bearer: String?
    /// The client's address, by which attempts are counted.
    let client: String
    /// The client's name for this server, without and with the scheme.
    let host: String
    let origin: String
    let standing: Standing
    /// A provider's answer about the credential of a sign-in.
    var vouched: Result<ProviderIdentity, ProviderError>?

    /// The rights of an administrator's credential.
    package enum Standing: Sendable {
        /// Nothing: the request came in where administrators are not answered.
        case client
        case claimed
        /// It was shown before, by the administrator of this name.
        case administrator(String)
    }

    package init(
        _ route: IdentityRoute, _ head: RequestHead, body: [UInt8], from peer: SocketAddress?, isSecure: Bool,
        standing: Standing
    ) {
        func text(_ bytes: ArraySlice<UInt8>?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }
        self.route = route
        method = head.method
        query = head.query
        self.body = body
        self.standing = standing
        let type = text(head.headers.first("content-type"))?.lowercased() ?? ""
        isForm = type.hasPrefix("application/x-www-form-urlencoded")
        let key = text(head.query.first("key") ?? head.headers.first("x-goog-api-key"))
        apiKey = key?.isEmpty == false ? key : nil
        app = text(head.headers.first("x-firebase-gmpid"))
        bearer = text(head.bearer)
        client = peer?.clientNetwork ?? ""
        host = String(decoding: head.host, as: UTF8.self)
        origin = "\(isSecure ? "https" : "http")://\(host)"
    }

    /// A parameter of the query.
    func parameter(_ name: StaticString) -> String? {
        query.first(name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The members of the body, which may be a form where `allowsForm` says so.
    func fields(allowsForm: Bool = false) throws(AccountFailure) -> IdentityFields {
        guard isForm, allowsForm else { return try IdentityFields(body: body) }
        return IdentityFields(Self.object(ofForm: body))
    }

    /// The first hundred parameters of a form or a query. Of one that comes twice, the last counts.
    static func object(ofForm bytes: [UInt8]) -> JSONObject {
        var object = JSONObject()
        for parameter in QueryString(bytes[...]).prefix(100) {
            guard let name = String(validating: parameter.name, as: UTF8.self),
                let value = String(validating: parameter.value, as: UTF8.self)
            else { continue }
            object[name] = .text(value)
        }
        return object
    }
}
