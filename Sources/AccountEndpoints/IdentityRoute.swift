import HearthHTTPCodec
package import HearthServerCodecs

/// Which endpoint about accounts a request means (accounts.md 1): the paths of the emulator, which begin with the name
/// of the service, and the same ones without it.
package struct IdentityRoute: Hashable, Sendable {
    enum Operation: Hashable, Sendable {
        // Of clients, some of administrators too.
        case signUp, signInWithPassword, signInWithCustomToken, signInWithIdp, signInWithEmailLink
        case lookUp, update, delete, sendCode, resetPassword, createAuthURI
        case token
        /// Of administrators' programs, with a service account's key.
        case accessToken
        case projectConfiguration, recaptchaParameters, passwordPolicy
        // Of administrators.
        case create, batchDelete, batchGet, batchCreate, query, ruleAuth, createSessionCookie, configuration
        /// Providers of a kind, or the one of an id.
        case openIDProviders(id: String?), samlProviders(id: String?)
        // Of everybody.
        case certificates, webKeys, actionPage
        // Of tools, in development mode.
        case ready, emulatorAccounts, emulatorConfiguration, emulatorCodes, emulatorVerificationCodes, emulatorAction
        /// It is there elsewhere, and not here.
        case notImplemented
        case unknown
    }

    let operation: Operation
    /// From the path, where only administrators name one.
    var project: String?
    var tenant: String?

    private init(_ operation: Operation, project: String? = nil, tenant: String? = nil) {
        self.operation = operation
        self.project = project
        self.tenant = tenant
    }

    /// Nil if the request is about something else.
    package init?(_ head: RequestHead) {
        // Data, which most requests are about.
        if head.path.suffix(5).elementsEqual(".json".utf8) { return nil }
        let path = String(decoding: head.path, as: UTF8.self).replacing("%3A", with: ":").replacing("%3a", with: ":")
        var parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()[...]
        guard let service = parts.first else { return nil }
        switch service {
        case "":
            guard parts.count == 1 else { return nil }
            self.init(.ready)
            return
        case "emulator":
            self = Self.emulator(parts.dropFirst(), head.method)
            return
        case "token":
            guard parts.count == 1, head.method == .post else { return nil }
            self.init(.accessToken)
            return
        case "auth":
            guard parts.elementsEqual(["auth", "action"]) else { return nil }
            self.init(.actionPage)
            return
        case "identitytoolkit.googleapis.com", "securetoken.googleapis.com", "www.googleapis.com":
            parts = parts.dropFirst()
        case "v1", "v2", "identitytoolkit", "robot", "service_accounts": break
        default: return nil
        }
        self = Self.service(parts, head.method)
    }

    private static func service(_ parts: ArraySlice<Substring>, _ method: HTTPMethod?) -> IdentityRoute {
        let rest = parts.dropFirst()
        switch parts.first {
        case "v1": return version1(rest, method)
        case "v2": return version2(rest, method)
        case "identitytoolkit":
            guard rest.count == 3, rest.starts(with: ["v3", "relyingparty"]), let name = rest.last else { break }
            return IdentityRoute(legacy(name, method))
        case "robot" where rest.elementsEqual(["v1", "metadata", "x509", signer]) && method == .get:
            return IdentityRoute(.certificates)
        case "service_accounts" where rest.elementsEqual(["v1", "jwk", signer]) && method == .get:
            return IdentityRoute(.webKeys)
        default: break
        }
        return IdentityRoute(.unknown)
    }

    /// As which the keys of ID tokens are published (accounts.md 6).
    private static let signer: Substring = "securetoken@system.gserviceaccount.com"

    private static func version1(_ parts: ArraySlice<Substring>, _ method: HTTPMethod?) -> IdentityRoute {
        switch (parts.first, method, parts.count) {
        case ("token", .post, 1): return IdentityRoute(.token)
        case ("projects", .get, 1): return IdentityRoute(.projectConfiguration)
        case ("recaptchaParams", .get, 1): return IdentityRoute(.recaptchaParameters)
        case ("sessionCookiePublicKeys", .get, 1): return IdentityRoute(.webKeys)
        case (let name?, .post, 1): return IdentityRoute(client[name] ?? .unknown)
        case ("projects", _, 2):
            let (project, name) = cut(parts[parts.startIndex + 1], at: ":")
            guard name == "createSessionCookie", method == .post else { return IdentityRoute(.unknown) }
            return IdentityRoute(.createSessionCookie, project: project)
        case ("projects", .post, 4) where parts[parts.startIndex + 2] == "tenants":
            let (tenant, name) = cut(parts[parts.startIndex + 3], at: ":")
            guard name == "createSessionCookie" else { return IdentityRoute(.unknown) }
            let project = String(parts[parts.startIndex + 1])
            return IdentityRoute(.createSessionCookie, project: project, tenant: tenant)
        default:
            guard let (project, tenant, name) = inProject(parts), let operation = administration(name, method) else {
                return IdentityRoute(.unknown)
            }
            return IdentityRoute(operation, project: project, tenant: tenant)
        }
    }

    private static func version2(_ parts: ArraySlice<Substring>, _ method: HTTPMethod?) -> IdentityRoute {
        if parts.elementsEqual(["passwordPolicy"]), method == .get { return IdentityRoute(.passwordPolicy) }
        if let (project, tenant, name) = inProject(parts), name == "config", method == .get || method == .patch {
            return IdentityRoute(.configuration, project: project, tenant: tenant)
        }
        return providers(parts) ?? IdentityRoute(.notImplemented)
    }

    /// `projects/P[/tenants/T]/KIND[/ID]`
    private static func providers(_ parts: ArraySlice<Substring>) -> IdentityRoute? {
        for (kind, rest) in [(parts.last, parts), (parts.dropLast().last, parts.dropLast())] {
            let id = rest.count == parts.count ? nil : parts.last.map { String($0) }
            guard let (project, tenant, _) = inProject(rest) else { continue }
            switch kind {
            case "oauthIdpConfigs":
                return IdentityRoute(.openIDProviders(id: id), project: project, tenant: tenant)
            case "inboundSamlConfigs":
                return IdentityRoute(.samlProviders(id: id), project: project, tenant: tenant)
            default: continue
            }
        }
        return nil
    }

    /// The parts of `projects/P[/tenants/T]/NAME`.
    private static func inProject(
        _ parts: ArraySlice<Substring>
    ) -> (project: String, tenant: String?, name: Substring)? {
        let parts = Array(parts)
        guard parts.first == "projects", let name = parts.last else { return nil }
        switch parts.count {
        case 3: return (String(parts[1]), nil, name)
        case 5 where parts[2] == "tenants": return (String(parts[1]), String(parts[3]), name)
        default: return nil
        }
    }

    private static func cut(_ text: Substring, at mark: Character) -> (String, Substring?) {
        let parts = text.split(separator: mark, maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? parts[1] : nil)
    }

    private static let client: [Substring: Operation] = [
        "accounts:signUp": .signUp, "accounts:signInWithPassword": .signInWithPassword,
        "accounts:signInWithCustomToken": .signInWithCustomToken, "accounts:signInWithIdp": .signInWithIdp,
        "accounts:signInWithEmailLink": .signInWithEmailLink, "accounts:lookup": .lookUp, "accounts:update": .update,
        "accounts:delete": .delete, "accounts:sendOobCode": .sendCode, "accounts:resetPassword": .resetPassword,
        "accounts:createAuthUri": .createAuthURI, "accounts:sendVerificationCode": .notImplemented,
        "accounts:signInWithPhoneNumber": .notImplemented,
    ]

    private static func administration(_ name: Substring, _ method: HTTPMethod?) -> Operation? {
        switch (name, method) {
        case ("accounts", .post): .create
        case ("accounts:lookup", .post): .lookUp
        case ("accounts:update", .post): .update
        case ("accounts:delete", .post): .delete
        case ("accounts:sendOobCode", .post): .sendCode
        case ("accounts:batchDelete", .post): .batchDelete
        case ("accounts:batchGet", .get): .batchGet
        case ("accounts:batchCreate", .post): .batchCreate
        case ("accounts:ruleAuth", .post): .ruleAuth
        case ("accounts:query", .post), ("accounts:queryAccounts", .post): .query
        default: nil
        }
    }

    /// The names of the operations in version 3, which some SDKs still use (accounts.md 1).
    private static func legacy(_ name: Substring, _ method: HTTPMethod?) -> Operation {
        switch (name, method) {
        case ("signupNewUser", .post): .signUp
        case ("verifyPassword", .post): .signInWithPassword
        case ("verifyCustomToken", .post): .signInWithCustomToken
        case ("verifyAssertion", .post): .signInWithIdp
        case ("emailLinkSignin", .post): .signInWithEmailLink
        case ("getAccountInfo", .post): .lookUp
        case ("setAccountInfo", .post): .update
        case ("deleteAccount", .post): .delete
        case ("getOobConfirmationCode", .post): .sendCode
        case ("resetPassword", .post): .resetPassword
        case ("createAuthUri", .post): .createAuthURI
        case ("downloadAccount", .post): .batchGet
        case ("uploadAccount", .post): .batchCreate
        case ("getProjectConfig", .get): .projectConfiguration
        case ("getRecaptchaParam", .get): .recaptchaParameters
        case ("publicKeys", .get): .certificates
        case ("sendVerificationCode", .post), ("verifyPhoneNumber", .post), ("signOutUser", .post): .notImplemented
        default: .unknown
        }
    }

    private static func emulator(_ parts: ArraySlice<Substring>, _ method: HTTPMethod?) -> IdentityRoute {
        if parts.elementsEqual(["action"]) { return IdentityRoute(.emulatorAction) }
        guard parts.first == "v1", let (project, tenant, name) = inProject(parts.dropFirst()) else {
            return IdentityRoute(.unknown)
        }
        let operation: Operation =
            switch (name, method) {
            case ("accounts", .delete): .emulatorAccounts
            case ("config", .get), ("config", .patch): .emulatorConfiguration
            case ("oobCodes", .get): .emulatorCodes
            case ("verificationCodes", .get): .emulatorVerificationCodes
            default: .unknown
            }
        return IdentityRoute(operation, project: project, tenant: tenant)
    }

    /// Only administrators may use it. Operations shared with users are checked by
    /// ``IdentityService/administrator(_:)``.
    package var isAdministrative: Bool {
        switch operation {
        case .accessToken, .create, .batchDelete, .batchGet, .batchCreate, .query, .ruleAuth, .createSessionCookie,
            .configuration, .emulatorAccounts, .emulatorConfiguration, .emulatorCodes, .emulatorVerificationCodes:
            true
        default: project != nil
        }
    }

    /// The endpoint may hash a password, which takes long.
    var isSlow: Bool {
        switch operation {
        case .signUp, .signInWithPassword, .update, .resetPassword, .create, .batchCreate, .actionPage,
            .emulatorAction:
            true
        default: false
        }
    }

    /// Somebody proves who they are, or tries to.
    var isSignIn: Bool {
        switch operation {
        case .signUp, .signInWithPassword, .signInWithCustomToken, .signInWithIdp, .signInWithEmailLink, .token,
            .resetPassword:
            true
        default: false
        }
    }

    /// The limits of a request's body.
    package var bodyBytesMax: Int { operation == .batchCreate ? 16 << 20 : 256 << 10 }
}
