import HearthClientTransport
import HearthHTTPCodec
import Synchronization
import HearthClientSession

/// Sends requests to a server's account endpoints (accounts.md 1), over one connection each.
final class IdentityClient: Sendable {
    private let url: DatabaseURL
    private let key: String
    private let projectID: String?
    /// The tenant that users sign in to; nil for none.
    let tenantID: Mutex<String?>
    private let connection: ConnectionOptions
    private let patience: Duration
    private let loop: any ClientLoop

    init(url: DatabaseURL, options: AuthOptions, connection: ConnectionOptions, loop: any ClientLoop) {
        self.url = url
        key = DatabaseURL.encoded(Array(options.apiKey.utf8))
        projectID = options.projectID
        tenantID = Mutex(options.tenantID)
        self.connection = connection
        patience = options.requestTimeout
        self.loop = loop
    }

    /// Sends an account operation, such as `signUp`. Tokens in the answer belong to the right project.
    func ask(_ operation: String, _ members: [String: DatabaseValue]) async throws(AuthError) -> DatabaseValue {
        var members = members
        let tenant = tenantID.withLock { $0 }
        // A token contains the tenant of its user.
        if members["idToken"] == nil, let tenant { members["tenantId"] = .string(tenant) }
        return try await post("/identitytoolkit.googleapis.com/v1/accounts:\(operation)", members)
    }

    /// Requests a new ID token (accounts.md 6).
    func refresh(_ refreshToken: String) async throws(AuthError) -> DatabaseValue {
        try await post(
            "/securetoken.googleapis.com/v1/token",
            ["grantType": "refresh_token", "refreshToken": .string(refreshToken)])
    }

    private func post(_ path: String, _ members: [String: DatabaseValue]) async throws(AuthError) -> DatabaseValue {
        var call = HTTPCall(url.address(target: "\(path)?key=\(key)"))
        call.method = .post
        call.contentType = "application/json"
        do throws(DatabaseError) { call.body = try DatabaseValue.object(members).jsonText() } catch {
            throw AuthError(.internalError, error.description)
        }
        let answer: HTTPAnswer
        do throws(ConnectionError) {
            answer = try await call.anyAnswer(on: loop, options: connection, patience: patience)
        } catch {
            throw AuthError(connection: error, to: url)
        }
        // A body that is not JSON comes from a proxy, or from a server that is not ready (accounts.md 5).
        guard let value = try? DatabaseValue(json: answer.body), value.object != nil, answer.status.code < 500 else {
            throw AuthError(
                .networkError, "The server cannot serve accounts at the moment (HTTP \(answer.status.code))")
        }
        if answer.status == .forbidden { throw AuthError(.invalidAPIKey) }
        guard answer.status == .ok else {
            throw AuthError(server: value["error"]["message"].string ?? "HTTP \(answer.status.code)")
        }
        if let projectID, let tokens = Tokens(answer: value), tokens.claims?["aud"] != .string(projectID) {
            throw AuthError(.invalidUserToken, "The server's users are of another project")
        }
        return value
    }
}
