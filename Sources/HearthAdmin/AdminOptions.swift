import HearthEventLoop
import HearthEventLoopTransport
import HearthClientSession

/// Options for an ``Administrator`` or an ``IDTokenVerifier``. All have defaults.
public struct AdminOptions: Sendable {
    /// The project of the users. Nil for the key's project; in development mode, for the project of the server's
    /// clients.
    public var projectID: String?
    /// The tenant of the users; nil for users without a tenant.
    public var tenantID: String?
    /// The key of an app, which is not secret. Only a server whose operator has configured keys checks it, and only in
    /// requests about an ID token.
    public var apiKey: String
    /// The authorities to trust over TLS, as a PEM file; nil for the system's.
    public var certificateAuthorityFile: String?
    /// The time limit for connecting, including TLS.
    public var openTimeout: Duration
    /// How long to wait for the server's answer.
    public var requestTimeout: Duration

    /// All options with their defaults.
    public init(
        projectID: String? = nil, tenantID: String? = nil, apiKey: String = "hearth",
        certificateAuthorityFile: String? = nil, openTimeout: Duration = .seconds(15),
        requestTimeout: Duration = .seconds(30)
    ) {
        self.projectID = projectID
        self.tenantID = tenantID
        self.apiKey = apiKey
        self.certificateAuthorityFile = certificateAuthorityFile
        self.openTimeout = openTimeout
        self.requestTimeout = requestTimeout
    }

    /// - throws: `invalidURL` for an unusable file of authorities.
    var connection: ConnectionOptions {
        get throws(AdminError) {
            var connection = ConnectionOptions()
            connection.openTimeout = openTimeout
            do throws(TLSError) {
                if let file = certificateAuthorityFile {
                    connection.authorities = try TLSContext.client(trusting: .file(file))
                }
            } catch {
                throw AdminError(.invalidURL, "the authorities cannot be used: \(error)")
            }
            return connection
        }
    }
}
