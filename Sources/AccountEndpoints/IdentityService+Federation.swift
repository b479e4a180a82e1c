import HearthJSONWebTokens
import HearthIdentity
import HearthJSONValues
import HearthAccess
import HearthHTTPResponses

/// Signing in by way of another provider (accounts.md 4).
extension IdentityService {
    /// A client's credential, if it is acceptable now, and the provider that verifies it: none if development mode
    /// accepts it unverified, because the provider is not set up.
    func admitted(
        _ request: IdentityRequest
    ) throws(AccountFailure) -> (assertion: ProviderAssertion, providers: IdentityProviders?) {
        let (fields, realm) = try asked(request)
        if fields.has("pendingToken") { throw .request(.notImplemented("There are no pending tokens here.")) }
        var assertion = try ProviderAssertion(fields)
        try count(.signIn, request)
        if case .unknown = trust.providers.standing(of: assertion.provider, in: realm) {
            assertion.provider = assertion.provider.lowercased()
        }
        switch trust.providers.standing(of: assertion.provider, in: realm) {
        case .enabled(let providers): return (assertion, providers)
        case .disabled: throw .refused(.operationNotAllowed, "The identity provider configuration is disabled.")
        case .unknown where isDevelopment: return (assertion, nil)
        case .unknown: throw .refused(.operationNotAllowed, "The identity provider configuration is not found.")
        }
    }

    /// Signs in a user for whom the provider has vouched.
    func signInWithProvider(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let (fields, realm) = try asked(request)
        let assertion = try ProviderAssertion(fields)
        // In development mode providers that are not set up are taken at their word, and have not been asked.
        let isFake = isDevelopment && request.vouched == nil
        let who = isFake ? try assertion.trusted() : try vouched(request.vouched)
        let told = Self.members(assertion, who, isFake: isFake)
        let outcome: Accounts.FederatedOutcome
        do throws(AccountFailure) {
            outcome = try accounts.signIn(
                who, linkingTo: try fields.bytes("idToken"),
                createsAccount: try fields.bool("autoCreate") ?? true, in: realm)
        } catch {
            // With the provider's answer the client can offer another way.
            guard case .refused(let refusal) = error, try fields.bool("returnIdpCredential") ?? false,
                [.federatedUserAlreadyLinked, .emailExists].contains(refusal.code)
            else { throw error }
            var members = told
            members["errorMessage"] = .text(refusal.message)
            return HTTPResponse(identity: members)
        }
        var members = told
        switch outcome {
        case .needsConfirmation(let providers):
            members["needConfirmation"] = .bool(true)
            if !providers.isEmpty { members["verifiedProvider"] = .array(providers.map { .text($0) }) }
            return HTTPResponse(identity: members)
        case .signedIn(let signIn, let emailRecycled):
            let user = signIn.user
            members.merge(
                JSONObject([
                    "localId": .text(user.id), "email": user.email.map { .text($0) },
                    "emailVerified": user.email.map { _ in .bool(user.emailVerified) },
                    "displayName": user.displayName.map { .text($0) }, "photoUrl": user.photoURL.map { .text($0) },
                    "isNewUser": signIn.isNew ? .bool(true) : nil,
                    "emailRecycled": emailRecycled ? .bool(true) : nil,
                ]))
            return answer(members, signIn, request)
        }
    }

    /// Whom the provider has vouched for.
    private func vouched(
        _ result: Result<ProviderIdentity, ProviderError>?
    ) throws(AccountFailure) -> ProviderIdentity {
        guard let result else { throw .busy }
        do throws(ProviderError) { return try result.get() } catch {
            switch error {
            case .unavailable: throw .busy
            case .unsupported:
                throw .refused(.operationNotAllowed, "The identity provider configuration is not found.")
            case .token(.wrongNonce):
                throw .refused(.missingOrInvalidNonce, "The nonce does not match that of the ID token.")
            case .token(let error): throw .refused(.invalidIDPResponse, "\(error)")
            case .refused: throw .refused(.invalidIDPResponse, "The provider does not accept the credential.")
            }
        }
    }

    private static func members(
        _ assertion: ProviderAssertion, _ who: ProviderIdentity, isFake: Bool
    ) -> JSONObject {
        let link = ProviderLink(provider: who.provider, rawID: who.rawID)
        let credential = assertion.credential
        // Most SDKs make the credential that they hand to the app of an access token (accounts.md 15).
        let fakeToken = isFake ? Array("HearthFakeAccessToken_\(who.provider)".utf8) : nil
        return JSONObject([
            "kind": .text("identitytoolkit#VerifyAssertionResponse"), "context": .text(""),
            "providerId": .text(who.provider), "federatedId": .text(link.federatedID),
            "email": who.email.map { .text($0) }, "emailVerified": who.email.map { _ in .bool(who.isEmailVerified) },
            "displayName": who.displayName.map { .text($0) }, "fullName": who.displayName.map { .text($0) },
            "firstName": who.firstName.map { .text($0) }, "lastName": who.lastName.map { .text($0) },
            "photoUrl": who.photoURL.map { .text($0) }, "screenName": who.screenName.map { .text($0) },
            "rawUserInfo": .string(who.profile),
            "oauthIdToken": credential.idToken.map { .string($0) },
            "oauthAccessToken": (credential.accessToken ?? fakeToken).map { .string($0) },
            "oauthTokenSecret": assertion.tokenSecret.map { .string($0) },
        ])
    }
}
