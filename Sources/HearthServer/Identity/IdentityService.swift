import EventLoop
import HTTPCodec
import Identity
import RealtimeDatabase
import TreeStorage

/// The endpoints about accounts (auth 1 to 7). Its calls wait; they are made on ``IdentityWorkers``.
final class IdentityService: Sendable {
    let accounts: Accounts
    let configuration: IdentityConfiguration
    let trust: Trust
    let mail: CodeMailer
    /// The latest codes, for tools, in development mode.
    let issued = IssuedCodes()
    private let quick: IdentityWorkers
    private let slow: IdentityWorkers
    let log: Log

    var isDevelopment: Bool { accounts.options.isDevelopment }

    init(
        _ configuration: IdentityConfiguration, _ server: ServerConfiguration, _ folder: DataFolder, _ trust: Trust,
        log: Log
    ) throws {
        self.configuration = configuration
        self.trust = trust
        self.log = log
        var options = configuration.options
        options.project = server.project
        options.isDevelopment = server.isDevelopment
        accounts = try Accounts(
            file: folder.path + "/accounts.sqlite", survivesPowerLoss: server.durability == .full, options: options,
            mode: trust.mode)
        mail = try CodeMailer(configuration.delivery, log: log)
        quick = try IdentityWorkers(
            name: "identity", count: configuration.quickThreads, capacity: configuration.quickWaitingMax)
        slow = try IdentityWorkers(
            name: "passwords", count: configuration.slowThreads, capacity: configuration.slowWaitingMax)
    }

    /// Finishes what is under way, and ends.
    func stop() {
        quick.stop()
        slow.stop()
        mail.stop()
        accounts.stop()
    }

    /// Answers a request later, on another thread. False if there is too much to do.
    func post(_ request: IdentityRequest, then: @escaping @Sendable (HTTPResponse) -> Void) -> Bool {
        (request.route.isSlow ? slow : quick).post { then(self.response(to: request)) }
    }

    func response(to request: IdentityRequest) -> HTTPResponse {
        do throws(AccountFailure) {
            return try answer(request)
        } catch {
            switch error {
            case .storage(let error): log.error("accounts.failed", [("error", error.message)])
            case .failed(let text): log.error("accounts.failed", [("error", text)])
            case .busy: log.warning("accounts.busy")
            case .refused, .request: break
            }
            return HTTPResponse(identity: error)
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

    /// The public keys, which may be kept for as long as a new one is published before it signs (auth 7.2).
    private func keyDocument(_ text: [UInt8]?) -> HTTPResponse {
        var response = HTTPResponse(json: text ?? Array("{}".utf8))
        response.cacheControl = "public, max-age=21600"
        return response
    }

    // MARK: Who asks

    /// Whether an administrator asks, as the credential says (auth 2). A client needs the key of an app.
    func isAdministrator(_ request: IdentityRequest) throws(AccountFailure) -> Bool {
        if request.standing == .administrator { return true }
        if let bearer = request.bearer {
            // Case does not matter to the official emulator.
            let isOwner = isDevelopment && bearer.lowercased() == "owner"
            guard request.standing == .claimed,
                isOwner || trust.verifier.isAdministrator(Array(bearer.utf8), now: accounts.now / 1000)
            else {
                throw .request(.unauthenticated("Invalid Credentials", reason: "authError"))
            }
            return true
        }
        if request.route.project != nil {
            throw .request(.unauthenticated("Login Required.", reason: "required"))
        }
        try checkKey(request)
        return false
    }

    func checkKey(_ request: IdentityRequest) throws(AccountFailure) {
        guard let key = request.apiKey, configuration.apiKeys?.contains(key) ?? true else {
            throw .request(.permissionDenied("The request is missing a valid API key."))
        }
    }

    func requireAdministrator(_ request: IdentityRequest) throws(AccountFailure) {
        guard try isAdministrator(request) else {
            throw .request(.unauthenticated("Login Required.", reason: "required"))
        }
    }

    /// Where a request finds its accounts. A client's tenant is in its body or its token.
    func realm(
        _ request: IdentityRequest, _ fields: IdentityFields, isAdmin: Bool
    ) throws(AccountFailure) -> Realm {
        let named = try fields.text("targetProjectId")
        if named != nil, !isAdmin {
            throw .refused(
                .insufficientPermission, "Only authenticated requests can specify target_project_id.")
        }
        var tenant = try fields.text("tenantId")
        if tenant == nil, !isAdmin { tenant = try fields.bytes("idToken").flatMap { accounts.tenant(of: $0) } }
        return try accounts.realm(project: request.route.project ?? named, tenant: request.route.tenant ?? tenant)
    }
}
