import HearthHTTPCodec
import HearthServerCodecs
package import HearthIdentity
import HearthJSONValues
import HearthSystem
package import HearthHTTPResponses

/// The answers of the endpoints about accounts (accounts.md 1).
extension HTTPResponse {
    init(_ status: HTTPStatus = .ok, identity object: JSONObject) {
        self.init(status, json: object.bytes)
        cacheControl = "no-store"
    }

    /// The envelope of errors (accounts.md 5).
    package init(identity failure: AccountFailure) {
        switch failure {
        case .refused(let error):
            self.init(identityError: .badRequest, message: error.message, reason: "invalid")
        case .request(.invalidArgument(let text)):
            self.init(identityError: .badRequest, message: text, reason: "invalid", status: "INVALID_ARGUMENT")
        case .request(.unauthenticated(let text, let reason)):
            self.init(
                identityError: .unauthorized,
                message: "Request is missing required authentication credential or has one that is not valid.",
                reason: reason, status: "UNAUTHENTICATED", detail: text)
        case .request(.permissionDenied(let text)):
            self.init(identityError: .forbidden, message: text, reason: "forbidden", status: "PERMISSION_DENIED")
        case .request(.notFound):
            self.init(identityError: .notFound, message: "Not found.", reason: "notFound", status: "NOT_FOUND")
        case .request(.notImplemented(let text)):
            self.init(identityError: .notImplemented, message: text, reason: "unimplemented", status: "NOT_IMPLEMENTED")
        case .storage, .failed, .busy:
            // No JSON: SDKs take that for a failure of the network, and try again instead of signing out (accounts.md
            // 5).
            self.init(.serviceUnavailable, text: "accounts cannot be served at the moment\n")
            headers.append(("Retry-After", Array("1".utf8)))
        }
    }

    private init(
        identityError code: HTTPStatus, message: String, reason: String, status: String? = nil, detail: String? = nil
    ) {
        let error = JSONObject([
            "message": .text(detail ?? message), "reason": .text(reason), "domain": .text("global"),
        ])
        let envelope = JSONObject([
            "code": .integer(Int64(code.code)), "message": .text(message), "errors": .array([.object(error)]),
            "status": status.map { .text($0) },
        ])
        self.init(code, identity: JSONObject(["error": .object(envelope)]))
    }
}

extension User {
    /// The placeholder for a hidden password hash: "REDACTED" in Base64.
    static let redactedHash = "UkVEQUNURUQ="

    /// An element of `users` (accounts.md 4). Password hashes are hidden, but clients want to know that there is one.
    func userInfo(tenant: String?) -> JSONObject {
        return JSONObject([
            "localId": .text(id),
            "email": email.map { .text($0) },
            "emailVerified": email != nil || emailVerified ? .bool(emailVerified) : nil,
            "displayName": displayName.map { .text($0) },
            "photoUrl": photoURL.map { .text($0) },
            "phoneNumber": phone.map { .text($0) },
            "disabled": isDisabled ? .bool(true) : nil,
            "passwordHash": password.map { _ in .text(Self.redactedHash) },
            "passwordUpdatedAt": passwordUpdatedAt.map { .integer($0) },
            "validSince": .text(String(validSince / 1000)),
            "createdAt": .text(String(createdAt)),
            "lastLoginAt": lastLoginAt.map { .text(String($0)) },
            "lastRefreshAt": lastRefreshAt.map { .text(Timestamp(milliseconds: $0).description) },
            "customAuth": hasCustomAuth ? .bool(true) : nil,
            "customAttributes": claims.map { .text($0) },
            "emailLinkSignin": hasEmailLink ? .bool(true) : nil,
            "initialEmail": initialEmail.map { .text($0) },
            "tenantId": tenant.map { .text($0) },
            "providerUserInfo": providerInfo,
        ])
    }

    /// Nil if there is no way to sign in.
    var providerInfo: JSONValue? {
        let entries = providers.map { link in
            JSONValue.object(
                JSONObject([
                    "providerId": .text(link.provider),
                    "rawId": .text(link.rawID),
                    "federatedId": .text(link.federatedID),
                    "email": link.email.map { .text($0) },
                    "displayName": link.displayName.map { .text($0) },
                    "photoUrl": link.photoURL.map { .text($0) },
                    "phoneNumber": link.phone.map { .text($0) },
                ]))
        }
        return entries.isEmpty ? nil : .array(entries)
    }
}
