import HTTPCodec
import Identity

/// Signing in by way of another provider (auth 5).
extension IdentityService {
    func signInWithProvider(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        _ = try isAdministrator(request)
        let fields = try request.fields()
        let realm = try realm(request, fields, isAdmin: false)
        if fields.has("pendingToken") { throw .request(.notImplemented("There are no pending tokens here.")) }
        let assertion = try ProviderAssertion(fields)
        let who = try providerUser(assertion)
        let outcome: Accounts.FederatedOutcome
        do throws(AccountFailure) {
            outcome = try accounts.signIn(
                who.user, linkingTo: try fields.bytes("idToken"),
                createsAccount: try fields.bool("autoCreate") ?? true, in: realm)
        } catch {
            // With what the provider said the client can offer another way.
            guard case .refused(let refusal) = error, try fields.bool("returnIdpCredential") ?? false,
                [.federatedUserAlreadyLinked, .emailExists].contains(refusal.code)
            else { throw error }
            var members = Self.members(assertion, who)
            members["errorMessage"] = .text(refusal.message)
            return HTTPResponse(identity: members)
        }
        var members = Self.members(assertion, who)
        switch outcome {
        case .needsConfirmation(let user, let providers):
            members["localId"] = .text(user)
            members["needConfirmation"] = .bool(true)
            members["verifiedProvider"] = .array(providers.map { .text($0) })
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
            return Self.answer(members, signIn)
        }
    }

    /// Whom the provider has vouched for.
    private func providerUser(_ assertion: ProviderAssertion) throws(AccountFailure) -> ProviderUser {
        guard isDevelopment else {
            throw .refused(.operationNotAllowed, "The identity provider configuration is not found.")
        }
        return try assertion.trusted()
    }

    private static func members(_ assertion: ProviderAssertion, _ who: ProviderUser) -> JSONObject {
        let user = who.user
        var link = ProviderLink(provider: user.provider, rawID: user.rawID)
        link.email = user.email
        return JSONObject([
            "kind": .text("identitytoolkit#VerifyAssertionResponse"), "context": .text(""),
            "providerId": .text(user.provider), "federatedId": .text(link.federatedID),
            "email": user.email.map { .text($0) }, "emailVerified": user.email.map { _ in .bool(user.emailVerified) },
            "displayName": user.displayName.map { .text($0) }, "fullName": user.displayName.map { .text($0) },
            "firstName": who.firstName.map { .text($0) }, "lastName": who.lastName.map { .text($0) },
            "photoUrl": user.photoURL.map { .text($0) }, "screenName": user.screenName.map { .text($0) },
            "rawUserInfo": .string(who.profile), "oauthIdToken": assertion.idToken.map { .string($0) },
            "oauthAccessToken": assertion.accessToken.map { .string($0) },
        ])
    }
}
