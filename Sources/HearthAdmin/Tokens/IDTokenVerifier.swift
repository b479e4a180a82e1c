import HearthHTTPCodec
import HearthJSONValues
import HearthJSONWebTokens
import HearthSystem
import HearthClientSession

/// Verifies the ID tokens that apps send to a back end. It needs no administrator's key, only the server's public keys,
/// which are fetched on first use and kept for an hour.
///
///     let verifier = try IDTokenVerifier(url: "https://db.example.com", projectID: "my-app")
///     let user = try await verifier.verifyIDToken(token)
///     print(user.uid, user.claims["role"]?.string ?? "")
///
/// Any task or thread may use it.
public final class IDTokenVerifier: Sendable {
    /// The accepted tokens.
    enum Mode: Sendable {
        /// Those that the server has signed.
        case production
        /// All, as a server in development mode does.
        case development
    }

    private let http: HTTPRequests
    private let mode: Mode
    private let projectID: String?
    private let apiKey: String
    private let keys: RemoteKeys

    private static let keysPath = "/www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"

    init(_ http: HTTPRequests, mode: Mode, projectID: String?, apiKey: String) {
        (self.http, self.mode, self.projectID, self.apiKey) = (http, mode, projectID, apiKey)
        keys = RemoteKeys(.document(url: Self.keysPath), fetcher: KeyFetcher(http: http))
    }

    /// For a server in production.
    ///
    /// - parameters:
    ///   - url: the server's URL for clients: `https://db.example.com`.
    ///   - projectID: the project of the server (`--project`).
    ///   - options: time limits and certificates.
    /// - throws: `invalidURL`.
    public convenience init(url: String, projectID: String, options: AdminOptions = AdminOptions()) throws(AdminError) {
        let http = try HTTPRequests(
            try HTTPRequests.url(url), options: try options.connection, patience: options.requestTimeout, loop: nil)
        self.init(http, mode: .production, projectID: projectID, apiKey: options.apiKey)
    }

    /// For a server in development mode, whose tokens are not signed: anyone can make one. Never use this in
    /// production.
    ///
    /// - throws: `invalidURL`.
    public convenience init(developmentURL url: String, options: AdminOptions = AdminOptions()) throws(AdminError) {
        let http = try HTTPRequests(
            try HTTPRequests.url(url), options: try options.connection, patience: options.requestTimeout, loop: nil)
        self.init(http, mode: .development, projectID: options.projectID, apiKey: options.apiKey)
    }

    /// Verifies a token: signature, project, and times. Contacts the server only to fetch unknown keys.
    ///
    /// - parameter token: the ID token that the app has sent.
    /// - parameter checkRevoked: whether to ask the server too if the session is still valid. Otherwise the token of a
    ///   user who was deleted or disabled, or whose sessions were ended, is valid until it expires, at most an hour.
    /// - throws: `invalidToken`, `tokenExpired`; `unavailable`, `cancelled`; with `checkRevoked` also `sessionEnded`,
    ///   `userDisabled`, `userNotFound`.
    public func verifyIDToken(
        _ token: String, checkRevoked: Bool = false
    ) async throws(AdminError) -> DecodedIDToken {
        let decoded: DecodedIDToken
        do throws(TokenError) {
            let parsed = try JSONWebToken(parsing: Array(token.utf8))
            let now = WallClock.milliseconds / 1000
            if mode == .production {
                // A token that no public key can have signed needs no keys.
                let isSigned = if case .signed = parsed.algorithm { true } else { false }
                let keys = isSigned ? try await keys(parsed.keyID, now: now) : []
                try parsed.verify { _ in keys }
            }
            decoded = try DecodedIDToken(parsed, projectID: projectID, now: now)
        } catch {
            throw AdminError(error)
        }
        if checkRevoked { try await checkSession(of: token, decoded) }
        return decoded
    }

    private func keys(_ id: [UInt8]?, now: Int64) async throws(TokenError) -> [VerificationKey] {
        let result = await withCheckedContinuation { continuation in
            keys.find(id, now: now) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Has the server check a token. It knows revocations to the millisecond.
    private func checkSession(of token: String, _ decoded: DecodedIDToken) async throws(AdminError) {
        let question = JSONObject(["idToken": .text(token), "tenantId": decoded.tenantID.map { .text($0) }])
        let key = DatabaseURL.encoded(Array(apiKey.utf8))
        let target = "/identitytoolkit.googleapis.com/v1/accounts:lookup?key=\(key)"
        _ = try await http.answer(.post, target, question.bytes).content()
    }
}

/// Gets the server's key documents.
private struct KeyFetcher: DocumentFetcher {
    let http: HTTPRequests

    /// - parameter request: its URL is a path of the server.
    func fetch(
        _ request: DocumentRequest, then: @escaping @Sendable (Result<FetchedDocument, FetchError>) -> Void
    ) {
        Task {
            do throws(AdminError) {
                let answer = try await http.answer(.get, request.url)
                then(.success(FetchedDocument(status: Int(answer.status.code), body: answer.body)))
            } catch {
                then(.failure(FetchError(error.message)))
            }
        }
    }
}
