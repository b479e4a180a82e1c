import HTTPCodec
import Identity
import JSONWebTokens

/// What a client brings from another provider (auth 5): parameters of the request's URI, of its body and of the URI's
/// fragment, of which later ones win.
struct ProviderAssertion {
    let provider: String
    private let parameters: JSONObject

    init(_ fields: IdentityFields) throws(AccountFailure) {
        guard let uri = try fields.text("requestUri") else { throw .refused(.missingRequestURI) }
        let parts = uri.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts[0].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var parameters = JSONObject()
        for text in [
            query.count > 1 ? String(query[1]) : "", try fields.text("postBody") ?? "",
            parts.count > 1 ? String(parts[1]) : "",
        ] {
            parameters.merge(IdentityRequest.object(ofForm: Array(text.utf8)))
        }
        guard let provider = parameters["providerId"]?.text, !provider.isEmpty else {
            throw .refused(.invalidCredentialOrProvider, "Invalid IdP response/credential: \(uri)")
        }
        self.provider = provider
        self.parameters = parameters
    }

    var credential: IdentityProviders.Credential {
        IdentityProviders.Credential(
            idToken: parameters["id_token"]?.utf8, accessToken: parameters["access_token"]?.utf8,
            nonce: parameters["nonce"]?.utf8)
    }

    /// What the provider says of the user, taken at its word: an unsigned token, or a plain JSON object (development
    /// only).
    func trusted() throws(AccountFailure) -> ProviderIdentity {
        guard let idToken = credential.idToken else {
            throw .request(.notImplemented("In development mode an id_token is needed; it may be a JSON object."))
        }
        let claims = (try? JSONWebToken(parsing: idToken))?.claims ?? (try? JSONValue(parsing: idToken))?.object
        guard let claims, let subject = claims["sub"]?.text, !subject.isEmpty else {
            throw .refused(.invalidIDPResponse, "Invalid Idp Response: id_token missing required fields.")
        }
        return ProviderIdentity(provider: provider, rawID: subject, claims: claims)
    }
}
