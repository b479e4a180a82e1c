import HearthEventLoop
import HearthEventLoopTransport
import HearthClientSession

/// How an ``Administrator`` or an ``IDTokenVerifier`` behaves. All options have defaults.
public struct AdminOptions: Sendable {
    /// The project whose users are meant. Nil for the one that the key is for; in development mode, for the one of the
    /// server's clients.
    public var projectID: String?
    /// The tenant of the project whose users are meant; nil for those without a tenant.
    public var tenantID: String?
    /// The key of an app, which is not secret. Only a server whose operator has named keys looks at it, and only when
    /// it is asked about an ID token.
    public var apiKey: String
    /// The authorities to trust over TLS, as a PEM file; nil for the system's.
    public var certificateAuthorityFile: String?
    /// For connecting and TLS together.
    public var openTimeout: Duration
    /// How long the server may take for an answer.
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

    /// - throws: `invalidURL` for a file of authorities that cannot be used.
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
