import HearthBytes
import HearthJSONValues

/// A provider's assertion made up by a test of an app (accounts.md 15): accepted unverified, in development only.
package struct FakeAssertion: Sendable {
    package enum Failure: Error, Hashable, Sendable {
        /// There is nothing that could be read: an access token of the real provider at most.
        case missing
        /// For people.
        case invalid(String)
    }

    package let identity: ProviderIdentity

    /// - parameter samlResponse: the JSON in place of a SAML response:
    /// `{"assertion":{"subject":{"nameId":…},"attributeStatements":{…}}}`.
    package init(
        of provider: String, _ credential: IdentityProviders.Credential, samlResponse: [UInt8]?
    ) throws(Failure) {
        let saml = try samlResponse.map { (text) throws(Failure) in try Self.saml(text) }
        let claims: JSONObject
        if let stated = try Self.claims(credential.idToken) {
            claims = stated
        } else if let stated = try Self.claims(credential.accessToken) {
            claims = stated
        } else if let idToken = credential.idToken, !idToken.isEmpty {
            throw .invalid("Unable to parse id_token: it must be a JSON object or a JSON Web Token.")
        } else if let saml {
            claims = JSONObject(["sub": .text(saml.name)])
        } else {
            throw .missing
        }
        let rawID = try Self.subject(claims)
        var identity = ProviderIdentity(
            provider: provider, rawID: rawID, claims: claims,
            profile: provider == "google.com" ? Self.googleProfile(rawID, claims) : saml?.attributes ?? claims)
        identity.screenName = claims["screen_name"]?.text
        if let saml {
            if saml.name.contains("@") { identity.email = saml.name }
            identity.isEmailVerified = true
            identity.signInAttributes = saml.attributes
        }
        self.identity = identity
    }

    /// The claims of a token of any algorithm, or of the JSON text of its claims; nil for an opaque token.
    private static func claims(_ text: [UInt8]?) throws(Failure) -> JSONObject? {
        guard let text else { return nil }
        if text.first == UInt8(ascii: "{") {
            guard let object = (try? JSONValue(parsing: text))?.object else {
                throw .invalid("Unable to parse id_token: it is not strict JSON.")
            }
            return object
        }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64.decodeAny(Array(parts[1])) else { return nil }
        return (try? JSONValue(parsing: payload))?.object
    }

    private static func subject(_ claims: JSONObject) throws(Failure) -> String {
        switch claims["sub"] {
        case .string(let utf8)? where !utf8.isEmpty: return String(decoding: utf8, as: UTF8.self)
        case nil, .null?, .string?, .bool(false)?, .integer(0)?:
            throw .invalid(
                "Invalid Idp Response: id_token missing required fields. "
                    + #"((Missing "sub" field. This field is required and must be a unique identifier.))"#)
        default: throw .invalid(#"((The "sub" field must be a string.))"#)
        }
    }

    private static func saml(_ text: [UInt8]) throws(Failure) -> (name: String, attributes: JSONObject?) {
        guard let response = (try? JSONValue(parsing: text))?.object else {
            throw .invalid("((SAMLResponse must be a JSON object.))")
        }
        guard let assertion = response["assertion"]?.object else {
            throw .invalid("((Missing assertion in SAMLResponse.))")
        }
        guard let subject = assertion["subject"]?.object else {
            throw .invalid("((Missing assertion.subject in SAMLResponse.))")
        }
        guard let name = subject["nameId"]?.text, !name.isEmpty else {
            throw .invalid("((Missing assertion.subject.nameId in SAMLResponse.))")
        }
        return (name, assertion["attributeStatements"]?.object)
    }

    /// Google's user data, in the form that apps know.
    private static func googleProfile(_ rawID: String, _ claims: JSONObject) -> JSONObject {
        let email = claims["email"]
        let scopes =
            ["openid", "https://www.googleapis.com/auth/userinfo.profile"]
            + (email == nil ? [] : ["https://www.googleapis.com/auth/userinfo.email"])
        return JSONObject([
            "granted_scopes": .text(scopes.joined(separator: " ")), "id": .text(rawID), "name": claims["name"],
            "given_name": claims["given_name"], "family_name": claims["family_name"],
            "verified_email": .bool(ProviderIdentity.isTrue(claims["email_verified"])), "locale": .text("en"),
            "email": email, "picture": claims["picture"],
        ])
    }
}
