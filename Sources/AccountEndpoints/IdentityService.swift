package import HearthIdentity
package import HearthServerLog
import Synchronization
import HearthStorageErrors
package import HearthAccess
package import HearthHTTPResponses

/// The endpoints about accounts (accounts.md 1). Its calls wait; they are made on ``IdentityWorkers``.
package final class IdentityService: Sendable {
    package let accounts: Accounts
    let configuration: IdentityConfiguration
    let trust: Trust
    package let mail: CodeMailer
    /// The latest codes, for tools, in development mode.
    let issued = IssuedCodes()
    private let quick: IdentityWorkers
    private let slow: IdentityWorkers
    private let log: Log
    let trail: AuditTrail
    /// Identity providers are being asked for so many sign-ins.
    private let providerQuestions = Atomic(0)

    var isDevelopment: Bool { accounts.options.isDevelopment }

    /// - parameters:
    ///   - options: those of `configuration`, with additions by the rest of the server.
    ///   - folder: the data folder.
    ///   - survivesPowerLoss: acknowledged changes are on disk.
    package init(
        _ configuration: IdentityConfiguration, options: AccountOptions, in folder: String, survivesPowerLoss: Bool,
        _ trust: Trust, log: Log, trail: AuditTrail
    ) throws {
        self.trail = trail
        self.configuration = configuration
        self.trust = trust
        self.log = log
        accounts = try Accounts(
            file: Accounts.file(in: folder), survivesPowerLoss: survivesPowerLoss, options: options, mode: trust.mode)
        accounts.observe { revocations in
            for revocation in revocations {
                trail.note(
                    AuditEvent(
                        .revoked,
                        [
                            ("user", revocation.user), ("tenant", revocation.realm.tenant),
                            ("loss", revocation.loss.name),
                        ]))
            }
        }
        mail = try CodeMailer(configuration.delivery, capacity: configuration.mailsMax, log: log)
        quick = try IdentityWorkers(
            name: "identity", count: configuration.quickThreads, capacity: configuration.quickWaitingMax)
        slow = try IdentityWorkers(
            name: "passwords", count: configuration.slowThreads, capacity: configuration.slowWaitingMax)
    }

    /// Finishes running work, and ends.
    package func stop() {
        quick.stop()
        slow.stop()
        mail.stop()
        accounts.stop()
    }

    /// Answers a request later, on another thread. False if there is too much to do.
    package func post(_ request: IdentityRequest, then: @escaping @Sendable (HTTPResponse) -> Void) -> Bool {
        if request.route.operation == .signInWithIdp {
            return quick.post(for: request.client) { self.askProvider(request, then) }
        }
        return (request.route.isSlow ? slow : quick).post(for: request.client) { then(self.response(to: request)) }
    }

    /// Nothing waits for the provider but the client.
    private func askProvider(_ request: IdentityRequest, _ then: @escaping @Sendable (HTTPResponse) -> Void) {
        let (assertion, asked): (ProviderAssertion, IdentityProviders?)
        do throws(AccountFailure) { (assertion, asked) = try admitted(request) } catch {
            return then(response(to: request, error))
        }
        guard let providers = asked else { return then(response(to: request)) }
        guard providerQuestions.wrappingAdd(1, ordering: .relaxed).newValue <= configuration.providerQuestionsMax else {
            providerQuestions.wrappingSubtract(1, ordering: .relaxed)
            return then(response(to: request, .busy))
        }
        providers.verify(assertion.credential, of: assertion.provider, now: accounts.now / 1000) { result in
            self.providerQuestions.wrappingSubtract(1, ordering: .relaxed)
            var vouched = request
            vouched.vouched = result
            let answered = vouched
            let isTaken = self.quick.post(for: request.client) { then(self.response(to: answered)) }
            if !isTaken { then(self.response(to: request, .busy)) }
        }
    }

    func response(to request: IdentityRequest) -> HTTPResponse {
        do throws(AccountFailure) { return try answer(request) } catch { return response(to: request, error) }
    }

    private func response(to request: IdentityRequest, _ error: AccountFailure) -> HTTPResponse {
        noteFailure(error, request)
        report(error)
        return HTTPResponse(identity: error)
    }

    /// Logs failures that are not the client's fault.
    func report(_ failure: AccountFailure) {
        switch failure {
        case .storage(let error): log.error("accounts.failed", [("error", error.message)])
        case .failed(let text): log.error("accounts.failed", [("error", text)])
        case .busy: log.warning("accounts.busy")
        case .refused, .request: break
        }
    }

    private func answer(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        switch request.route.operation {
        case .signUp: try signUp(request)
        case .signInWithPassword: try signInWithPassword(request)
        case .signInWithCustomToken: try signInWithCustomToken(request)
        case .signInWithIdp: try signInWithProvider(request)
        case .signInWithEmailLink: try signInWithEmailLink(request)
        case .lookUp: try lookUp(request)
        case .update: try update(request)
        case .delete: try delete(request)
        case .sendCode: try sendCode(request)
        case .resetPassword: try resetPassword(request)
        case .createAuthURI: try createAuthURI(request)
        case .token: try token(request)
        case .accessToken: try accessToken(request)
        case .projectConfiguration: try projectConfiguration(request)
        case .recaptchaParameters: try recaptchaParameters(request)
        case .passwordPolicy: try passwordPolicy(request)
        case .create: try create(request)
        case .batchDelete: try batchDelete(request)
        case .batchGet: try batchGet(request)
        case .batchCreate: try batchCreate(request)
        case .query: try query(request)
        case .ruleAuth: try ruleAuth(request)
        case .createSessionCookie: try createSessionCookie(request)
        case .configuration: try projectSettings(request, needsCredential: true)
        case .openIDProviders(let id): try openIDProviders(request, id: id)
        case .samlProviders(let id): try samlProviders(request, id: id)
        case .certificates: keyDocument(trust.keys?.certificates)
        case .webKeys: keyDocument(trust.keys?.jwks ?? Array(#"{"keys":[]}"#.utf8))
        case .actionPage: actionPage(request)
        case .ready, .emulatorAccounts, .emulatorConfiguration, .emulatorCodes, .emulatorVerificationCodes,
            .emulatorAction:
            try emulate(request)
        case .notImplemented: throw .request(.notImplemented("This server has no such operation."))
        case .unknown: throw .request(.notFound)
        }
    }

    /// The public keys, which may be kept for as long as a new one is published before it signs (accounts.md 6).
    private func keyDocument(_ text: [UInt8]?) -> HTTPResponse {
        var response = HTTPResponse(json: text ?? Array("{}".utf8))
        response.cacheControl = "public, max-age=21600"
        return response
    }

    // MARK: Who asks

    /// The name of the administrator who asks, as the credential says (accounts.md 2). Nil for a client, which needs
    /// the key of an app.
    func administrator(_ request: IdentityRequest) throws(AccountFailure) -> String? {
        if case .administrator(let name) = request.standing { return name }
        if let bearer = request.bearer {
            guard case .claimed = request.standing,
                let name = trust.verifier.administrator(Array(bearer.utf8), now: accounts.now / 1000)
            else {
                throw .request(.unauthenticated("Invalid Credentials", reason: "authError"))
            }
            return name
        }
        if request.route.project != nil {
            throw .request(.unauthenticated("Login Required.", reason: "required"))
        }
        try checkKey(request)
        return nil
    }

    func isAdministrator(_ request: IdentityRequest) throws(AccountFailure) -> Bool {
        try administrator(request) != nil
    }

    /// Counts an attempt of a client. Administrators have no limits.
    func count(_ attempt: Accounts.Attempt, _ request: IdentityRequest) throws(AccountFailure) {
        try accounts.admit(attempt, from: request.client)
    }

    func checkKey(_ request: IdentityRequest) throws(AccountFailure) {
        guard let key = request.apiKey, configuration.apiKeys?.contains(key) ?? true else {
            throw .request(.permissionDenied("The request is missing a valid API key."))
        }
    }

    /// The name of the requesting administrator; refuses other clients.
    func requireAdministrator(_ request: IdentityRequest) throws(AccountFailure) -> String {
        guard let name = try administrator(request) else {
            throw .request(.unauthenticated("Login Required.", reason: "required"))
        }
        return name
    }
}
