import HearthHTTPCodec
import HearthIdentity
import HearthJSONValues
import HearthJSONWebTokens
import HearthAccess
import HearthHTTPResponses

/// Signing up and in (accounts.md 4).
extension IdentityService {
    /// The members that bring a client into a session.
    static func tokens(_ signIn: SignIn) -> JSONObject {
        JSONObject([
            "idToken": .string(signIn.idToken), "refreshToken": .string(signIn.refreshToken),
            "expiresIn": .text(String(IDToken.seconds)),
        ])
    }

    /// The answer to a user who has signed up or in.
    func answer(_ members: JSONObject, _ signIn: SignIn, _ request: IdentityRequest) -> HTTPResponse {
        note(signIn, request)
        var members = members
        members.merge(Self.tokens(signIn))
        return HTTPResponse(identity: members)
    }

    func newUser(_ fields: IdentityFields) throws(AccountFailure) -> NewUser {
        var new = NewUser()
        new.id = try fields.text("localId")
        new.email = try fields.text("email")
        new.password = try fields.text("password")
        new.displayName = try fields.text("displayName")
        new.photoURL = try fields.text("photoUrl")
        return new
    }

    func signUp(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        if try isAdministrator(request) { return try create(request) }
        let fields = try request.fields()
        let realm = try realm(request, fields, isAdmin: false)
        try count(.newAccount, request)
        let new = try newUser(fields)
        let kind = JSONValue.text("identitytoolkit#SignupNewUserResponse")
        let signIn: SignIn
        if let idToken = try fields.bytes("idToken") {
            if new.id != nil { throw .refused(.unexpectedParameter, "User ID") }
            guard new.email != nil else { throw .refused(.missingEmail) }
            guard new.password != nil else { throw .refused(.missingPassword) }
            guard accounts.options.allowsPasswords else { throw .refused(.operationNotAllowed) }
            var change = UserChange()
            change.email = new.email
            change.password = new.password
            change.displayName = new.displayName
            change.photoURL = new.photoURL
            let update = try accounts.update(.idToken(idToken), change, in: realm)
            send(update.recovery, request, realm)
            noteChanges(update.changes, of: update.user, request)
            guard let renewed = update.signIn else { throw .refused(.invalidIDToken) }
            signIn = renewed
        } else {
            signIn = try accounts.signUp(new, in: realm)
        }
        let user = signIn.user
        return answer(
            JSONObject([
                "kind": kind, "localId": .text(user.id), "email": user.email.map { .text($0) },
                "displayName": user.displayName.map { .text($0) },
            ]), signIn, request)
    }

    func signInWithPassword(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let (fields, realm) = try asked(request)
        try count(.signIn, request)
        let signIn = try accounts.signIn(
            email: try fields.text("email"), password: try fields.text("password"), in: realm, from: request.client)
        let user = signIn.user
        return answer(
            JSONObject([
                "kind": .text("identitytoolkit#VerifyPasswordResponse"), "registered": .bool(true),
                "localId": .text(user.id), "email": user.email.map { .text($0) },
                "displayName": user.displayName.map { .text($0) },
            ]), signIn, request)
    }

    func signInWithCustomToken(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let (fields, realm) = try asked(request)
        guard let text = try fields.bytes("token"), !text.isEmpty else { throw .refused(.missingCustomToken) }
        try count(.signIn, request)
        let token = try customToken(text)
        guard token.tenant.map({ String(decoding: $0, as: UTF8.self) }) == realm.tenant else {
            throw .refused(.tenantIDMismatch)
        }
        guard JSONValue.object(token.claims).bytes.count <= CustomToken.claimsByteCountMax else {
            throw .refused(.claimsTooLarge)
        }
        let signIn = try accounts.signIn(token, in: realm)
        return answer(
            JSONObject([
                "kind": .text("identitytoolkit#VerifyCustomTokenResponse"), "isNewUser": .bool(signIn.isNew),
            ]), signIn, request)
    }

    private func customToken(_ text: [UInt8]) throws(AccountFailure) -> CustomToken {
        do throws(TokenError) {
            if isDevelopment { return try CustomToken(trusting: text) }
            return try CustomToken(
                verifying: text, now: accounts.now / 1000, keys: trust.serviceAccounts.verificationKeys)
        } catch {
            switch error {
            case .invalidClaim("uid"): throw .refused(.missingIdentifier)
            case .invalidClaim("claims"):
                let members = (try? JSONWebToken(parsing: text))?.claims ?? (try? JSONValue(parsing: text))?.object
                guard let name = (members?["claims"]?.object).flatMap({ ReservedClaims.first(in: $0) }) else {
                    throw .refused(.invalidClaims)
                }
                throw .refused(.forbiddenClaim, name)
            case .unknownKey: throw .refused(.credentialMismatch)
            default: throw .refused(.invalidCustomToken, "\(error)")
            }
        }
    }

    func signInWithEmailLink(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let (fields, realm) = try asked(request)
        try count(.signIn, request)
        let signIn = try accounts.signIn(
            email: try fields.text("email"), code: try fields.text("oobCode"), linkingTo: try fields.bytes("idToken"),
            in: realm)
        return answer(
            JSONObject([
                "kind": .text("identitytoolkit#EmailLinkSigninResponse"), "email": signIn.user.email.map { .text($0) },
                "localId": .text(signIn.user.id), "isNewUser": .bool(signIn.isNew),
            ]), signIn, request)
    }

    /// A new ID token for a refresh token (accounts.md 6).
    func token(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        try checkKey(request)
        let fields = try request.fields(allowsForm: true)
        guard let grant = try fields.text("grantType") else { throw .refused(.missingGrantType) }
        guard grant == "refresh_token" else { throw .refused(.invalidGrantType) }
        guard let refreshToken = try fields.bytes("refreshToken"), !refreshToken.isEmpty else {
            throw .refused(.missingRefreshToken)
        }
        let signIn = try refresh(refreshToken, request)
        return HTTPResponse(
            identity: JSONObject([
                "access_token": .string(signIn.idToken), "expires_in": .text(String(IDToken.seconds)),
                "token_type": .text("Bearer"), "refresh_token": .string(signIn.refreshToken),
                "id_token": .string(signIn.idToken), "user_id": .text(signIn.user.id),
                "project_id": .text(Self.projectNumber),
            ]))
    }

    /// Clients renew their tokens once an hour, many of them from one address: only failures are counted.
    private func refresh(_ token: [UInt8], _ request: IdentityRequest) throws(AccountFailure) -> SignIn {
        do throws(AccountFailure) { return try accounts.refresh(token).signIn } catch {
            if case .refused = error { try count(.signIn, request) }
            throw error
        }
    }

    /// An access token for an assertion that a service account's key has signed (accounts.md 11).
    func accessToken(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let fields = try request.fields(allowsForm: true)
        let answer = trust.verifier.answer(
            grantType: try fields.bytes("grantType"), assertion: try fields.bytes("assertion"),
            endpoints: tokenEndpoints(request), now: accounts.now / 1000)
        trail.note(
            AuditEvent(
                answer.receiver == nil ? .accessTokenRefused : .accessTokenGiven, client: request.client,
                [("to", answer.receiver), ("reason", answer.body["error_description"]?.text)]))
        return HTTPResponse(HTTPStatus(answer.status), identity: answer.body)
    }

    /// The URLs of this server that assertions may name. Behind a proxy the server cannot know whether it is reached
    /// over TLS.
    private func tokenEndpoints(_ request: IdentityRequest) -> [String] {
        if let url = configuration.tokenURL { return [url] }
        return ["http", "https"].map { "\($0)://\(request.host)/token" }
    }

    /// Projects have no numbers here; clients want one.
    static let projectNumber = "12345"

    /// A user's sign-in methods (accounts.md 8), unless they must not be revealed.
    func createAuthURI(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let (fields, realm) = try asked(request)
        guard let identifier = try fields.text("identifier") else { throw .refused(.missingIdentifier) }
        guard let next = try fields.text("continueUri") else { throw .refused(.missingContinueURI) }
        guard WebAddress(next) != nil else { throw .refused(.invalidContinueURI) }
        guard identifier.split(separator: "@", omittingEmptySubsequences: false).count == 2 else {
            throw .refused(.invalidIdentifier)
        }
        var members = JSONObject([
            "kind": .text("identitytoolkit#CreateAuthUriResponse"),
            "sessionId": .text(try fields.text("sessionId") ?? Cryptography.randomName(27)),
        ])
        if !accounts.hidesEmails {
            try count(.question, request)
            let user = try accounts.lookUp([.email(identifier)], in: realm).first
            let providers = user?.providers.map(\.provider).filter { $0 != ProviderLink.phone } ?? []
            var methods = providers.filter { $0 != ProviderLink.password }
            if user?.password != nil { methods.insert("password", at: 0) }
            if user?.hasEmailLink == true { methods.append("emailLink") }
            members["registered"] = .bool(user != nil)
            if user != nil {
                members["allProviders"] = .array(providers.map { .text($0) })
                members["signinMethods"] = .array(methods.map { .text($0) })
            }
        }
        return HTTPResponse(identity: members)
    }

    // MARK: Public data of the project

    func projectConfiguration(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        try checkKey(request)
        let domains = configuration.authorizedDomains.sorted().map { JSONValue.text($0) }
        return HTTPResponse(
            identity: JSONObject(["projectId": .text(Self.projectNumber), "authorizedDomains": .array(domains)]))
    }

    func recaptchaParameters(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        try checkKey(request)
        return HTTPResponse(
            identity: JSONObject([
                "kind": .text("identitytoolkit#GetRecaptchaParamResponse"), "recaptchaSiteKey": .text("none"),
                "recaptchaStoken": .text("none"),
            ]))
    }

    func passwordPolicy(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        try checkKey(request)
        let strength = JSONObject([
            "minPasswordLength": .integer(6), "maxPasswordLength": .integer(Int64(PasswordHasher.passwordByteCountMax)),
        ])
        return HTTPResponse(
            identity: JSONObject([
                "customStrengthOptions": .object(strength),
                "allowedNonAlphanumericCharacters": .array([]), "enforcementState": .text("OFF"),
                "forceUpgradeOnSignin": .bool(false), "schemaVersion": .integer(1),
            ]))
    }
}
