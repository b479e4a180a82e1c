package import HearthJSONWebTokens

/// Somebody else whose users are believed: Firebase itself, or any OpenID Connect provider. An issuer that is believed
/// can speak for any `uid`.
package struct ForeignIssuer: Sendable {
    package enum Keys: Sendable {
        /// Read once, from a file.
        case fixed(KeySet)
        case remote(RemoteKeys)
    }

    /// The token's `iss`, byte for byte.
    package let issuer: String
    /// The token's `aud` is one of these.
    package let audiences: [String]
    package let keys: Keys

    package init(issuer: String, audiences: [String], keys: Keys) {
        self.issuer = issuer
        self.audiences = audiences
        self.keys = keys
    }

    /// Firebase's own ID tokens of a project (accounts.md 6).
    package static func firebase(project: String, fetcher: any DocumentFetcher) -> ForeignIssuer {
        let url = "https://www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
        return ForeignIssuer(
            issuer: IDToken.issuer(of: project), audiences: [project],
            keys: .remote(RemoteKeys(.document(url: url), fetcher: fetcher)))
    }

    /// Finds the keys that may have signed a token; see ``RemoteKeys/find(_:now:answer:)``.
    func find(_ keyID: [UInt8]?, now: Int64, answer: @escaping RemoteKeys.Answer) {
        switch keys {
        case .fixed(let set):
            let keys = set.verificationKeys(keyID)
            answer(keys.isEmpty ? .failure(.unknownKey) : .success(keys))
        case .remote(let keys): keys.find(keyID, now: now, answer: answer)
        }
    }
}
