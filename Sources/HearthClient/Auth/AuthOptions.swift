public import HearthClientTransport

/// Options for ``Auth``.
public struct AuthOptions: Sendable {
    /// The key of the app, which is not secret. Only a server whose operator has configured keys checks it.
    public var apiKey: String
    /// The project whose users may sign in; tokens of another one are refused with `invalidUserToken`. Nil for the
    /// server's project.
    public var projectID: String?
    /// The tenant of the project that users sign in to (`--tenants`); nil for none. ``Auth/tenantID`` changes it.
    public var tenantID: String?
    /// The file that keeps the session, so that a restarted program is still signed in, even without a network. One
    /// file for one server, readable only by its owner: anyone who has the file is signed in. Nil to keep nothing.
    public var sessionFile: String?
    /// The authorities to trust over TLS, as a PEM file; nil for the system's.
    public var certificateAuthorityFile: String?
    /// The time limit for connecting, including TLS.
    public var openTimeout: Duration
    /// How long to wait for the server's answer.
    public var requestTimeout: Duration

    /// The transport to the server; nil for the system's default, as in ``DatabaseOptions/transport``.
    public var transport: (any ClientTransport)?

    /// How long before its expiry an ID token is replaced.
    package var refreshLead = Duration.seconds(300)

    /// All options with their defaults.
    public init(
        apiKey: String = "hearth", projectID: String? = nil, tenantID: String? = nil, sessionFile: String? = nil,
        certificateAuthorityFile: String? = nil, openTimeout: Duration = .seconds(15),
        requestTimeout: Duration = .seconds(30), transport: (any ClientTransport)? = nil
    ) {
        self.apiKey = apiKey
        self.projectID = projectID
        self.tenantID = tenantID
        self.sessionFile = sessionFile
        self.certificateAuthorityFile = certificateAuthorityFile
        self.openTimeout = openTimeout
        self.requestTimeout = requestTimeout
        self.transport = transport
    }
}
