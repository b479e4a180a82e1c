import HearthJSONWebTokens

/// The providers whose users may sign in here, by id (accounts.md 4).
package struct IdentityProviders: Sendable {
    package enum Provider: Sendable {
        case openID(OpenIDProvider)
        case facebook(FacebookProvider)
    }

    /// A client's credential from a provider.
    package struct Credential: Secret, Sendable {
        package var idToken: [UInt8]?
        package var accessToken: [UInt8]?
        package var nonce: [UInt8]?

        package init(idToken: [UInt8]? = nil, accessToken: [UInt8]? = nil, nonce: [UInt8]? = nil) {
            self.idToken = idToken
            self.accessToken = accessToken
            self.nonce = nonce
        }
    }

    private let providers: [String: [Provider]]

    package init(_ providers: [(id: String, provider: Provider)]) {
        self.providers = Dictionary(grouping: providers, by: \.id).mapValues { $0.map(\.provider) }
    }

    var openIDProviders: [OpenIDProvider] {
        providers.values.joined().compactMap { if case .openID(let provider) = $0 { provider } else { nil } }
    }

    package func contains(_ id: String) -> Bool { providers[id] != nil }

    /// Finds out whom a provider vouches for. An ID token counts before an access token. Never waits.
    ///
    /// - parameter now: seconds since 1970.
    package func verify(
        _ credential: Credential, of id: String, now: Int64, answer: @escaping ProviderAnswer
    ) {
        for provider in providers[id] ?? [] {
            switch (provider, credential.idToken, credential.accessToken) {
            case (.openID(let provider), let idToken?, _):
                return provider.verify(idToken, nonce: credential.nonce, now: now, answer: answer)
            case (.facebook(let provider), nil, let accessToken?):
                return provider.verify(accessToken, now: now, answer: answer)
            default: break
            }
        }
        answer(.failure(.unsupported))
    }
}
