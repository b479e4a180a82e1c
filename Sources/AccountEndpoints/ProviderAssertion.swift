import HearthIdentity
import HearthJSONValues

/// A client's credential of another provider (accounts.md 4): parameters of the request's URI, of its body and of the
/// URI's fragment, of which later ones win.
struct ProviderAssertion {
    var provider: String
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
        // Those that administrators name have capitals if they chose any; `Google.com` is google.com.
        self.provider = provider.hasPrefix(OpenIDConfiguration.idPrefix) ? provider : provider.lowercased()
        self.parameters = parameters
    }

    var credential: IdentityProviders.Credential {
        IdentityProviders.Credential(
            idToken: parameters["id_token"]?.utf8, accessToken: parameters["access_token"]?.utf8,
            nonce: parameters["nonce"]?.utf8)
    }

    /// The secret that goes with an access token of OAuth 1.
    var tokenSecret: [UInt8]? { parameters["oauth_token_secret"]?.utf8 }

    /// The provider's data about the user, unverified (development only).
    func trusted() throws(AccountFailure) -> ProviderIdentity {
        do throws(FakeAssertion.Failure) {
            return try FakeAssertion(of: provider, credential, samlResponse: parameters["SAMLResponse"]?.utf8).identity
        } catch {
            switch error {
            case .missing:
                throw .request(
                    .notImplemented(
                        "In development mode \(provider) needs an id_token, or an access_token, that is a JSON object "
                            + "or a JSON Web Token; real ones are taken once the provider is set up."))
            case .invalid(let text): throw .refused(.invalidIDPResponse, text)
            }
        }
    }
}
