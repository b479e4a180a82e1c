import HearthEventLoop
import HearthHTTPCodec
import HearthServer
import HearthIdentity
import HearthJSONTree
import HearthJSONValues
import HearthServerLog
import HearthTestSupport
import Testing
import HearthAccountEndpoints
import HearthRealtimeSessions

/// A server with accounts, and a client that asks its endpoints.
final class IdentityClient {
    let server: RealtimeTestServer
    let rest: RESTClient
    /// Where administrators are answered: the same, or a listener of its own.
    let admin: RESTClient

    /// For the rules, without which there is no production.
    private let ownFolder = TemporaryFolder()

    init(
        isDevelopment: Bool = true, hasAdminListener: Bool = false, learnsProjects: Bool = false, folder: String? = nil,
        rules text: String = #"{"rules":{}}"#, settings: String? = nil,
        trustedProxies: TrustedProxies = TrustedProxies(), logLevel: Log.Level = .error, trustFile: String? = nil,
        renewalTime: Duration? = nil,
        _ configure: (inout IdentityConfiguration) -> Void = { _ in }
    ) throws {
        let rules = ownFolder.path + "/rules.json"
        TemporaryFolder.write(Array(text.utf8), to: rules)
        server = try RealtimeTestServer { configuration in
            var identity = IdentityConfiguration()
            configuration.isDevelopment = isDevelopment
            configuration.learnsProjects = learnsProjects
            if hasAdminListener { configuration.adminAddress = .loopback(port: 0) }
            configuration.rulesFile = rules
            configuration.settingsText = settings.map { Array($0.utf8) }
            identity.options.protectsEmails = false
            identity.options.passwordCost = .init(logarithm: 2, blockSize: 1, rounds: 1)
            configure(&identity)
            configuration.identity = identity
            if let folder { configuration.dataFolder = folder }
            configuration.trustedProxies = trustedProxies
            configuration.logLevel = logLevel
            configuration.trustFile = trustFile
            if let renewalTime { configuration.connectionLimits.renewalTime = renewalTime }
        }
        rest = try server.connectREST()
        admin = hasAdminListener ? try server.connectAdminREST() : rest
    }

    /// Gets an access token for an assertion.
    func accessToken(_ assertion: String) throws -> Answer {
        try ask(
            "POST", "/token", "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)",
            ["Content-Type: application/x-www-form-urlencoded"], at: admin)
    }

    struct Answer {
        let http: RESTClient.Answer
        let members: JSONObject

        var status: Int { http.status }
        /// The message of an error.
        var error: String? { members["error"]?.object?["message"]?.text }

        subscript(_ name: String) -> String? { members[name]?.text }

        func object(_ name: String) -> JSONObject? { members[name]?.object }
    }

    func ask(
        _ method: String, _ path: String, _ body: String? = nil, _ fields: [String] = [], at client: RESTClient? = nil
    ) throws -> Answer {
        let answer = try (client ?? rest).ask(method, path, fields, body: body.map { Array($0.utf8) })
        return Answer(http: answer, members: (try? JSONValue(parsing: answer.body))?.object ?? JSONObject())
    }

    /// An operation of clients.
    func post(_ operation: String, _ body: String) throws -> Answer {
        try ask("POST", "/identitytoolkit.googleapis.com/v1/accounts:\(operation)?key=app", body)
    }

    /// An operation of administrators.
    func admin(_ operation: String, _ body: String, project: String = "hearth") throws -> Answer {
        try ask(
            "POST", "/identitytoolkit.googleapis.com/v1/projects/\(project)/\(operation)", body,
            ["authorization: Bearer owner"], at: admin)
    }

    func refresh(_ token: String) throws -> Answer {
        try ask(
            "POST", "/securetoken.googleapis.com/v1/token?key=app", "grant_type=refresh_token&refresh_token=\(token)",
            ["Content-Type: application/x-www-form-urlencoded"])
    }

    func signUp(_ email: String, _ password: String = "secret1") throws -> Answer {
        try post("signUp", #"{"email":"\#(email)","password":"\#(password)","returnSecureToken":true}"#)
    }

    func signIn(_ email: String, _ password: String = "secret1") throws -> Answer {
        try post("signInWithPassword", #"{"email":"\#(email)","password":"\#(password)"}"#)
    }

    /// The code that was sent last.
    func lastCode() throws -> JSONObject {
        let codes = try ask("GET", "/emulator/v1/projects/hearth/oobCodes").members["oobCodes"]?.array
        return try #require(codes?.last?.object)
    }
}
