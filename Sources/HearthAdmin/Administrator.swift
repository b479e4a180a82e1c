package import HearthEventLoop
public import HearthClient
import HearthJSONValues
import HearthSystem
package import HearthClientSession
package import HearthConnection

/// An administrator of a server, for back ends: verifies ID tokens, makes custom tokens, manages users, reads and
/// replaces rules, and reads and writes data without restriction by rules.
///
///     let admin = try Administrator(keyFile: "/etc/my-app/key.json")
///     let user = try await admin.createUser(NewUser(email: "ann@example.com", password: password))
///     try await admin.setCustomClaims(["role": "editor"], of: user.uid)
///
/// `hearth admin create-key FILE` makes a key, which contains its server's address. Access tokens are requested and
/// renewed automatically.
///
/// **Threads.** Any task or thread may use it. It has one thread, which ends with its last reference.
public final class Administrator: Sendable {
    /// The URL of the server's listener for administrators.
    public let url: String
    let requests: AdminRequests
    let verifier: IDTokenVerifier
    /// The path of the accounts of the project and tenant.
    let accounts: String
    let tenantID: String?

    /// An administrator with a key, of the server that the key names.
    ///
    /// - parameter keyFile: the path of the key. A file that other users may read is refused.
    /// - parameter options: time limits, certificates, project and tenant.
    /// - throws: `invalidKey`, `invalidURL`.
    public convenience init(keyFile: String, options: AdminOptions = AdminOptions()) throws(AdminError) {
        let text: [UInt8]?
        do throws(PrivateFile.Failure) { text = try PrivateFile.read(keyFile) } catch {
            throw AdminError(.invalidKey, "\(error)")
        }
        guard let text else { throw AdminError(.invalidKey, "there is no file \(keyFile)") }
        do throws(AdminError) { try self.init(key: text, options: options) } catch {
            throw AdminError(error.code, error.code == .invalidKey ? "\(keyFile): \(error.message)" : error.message)
        }
    }

    /// An administrator with a key, of the server that the key names.
    ///
    /// - parameter key: the text of the key, for programs that do not keep it in a file.
    /// - parameter options: time limits, certificates, project and tenant.
    /// - throws: `invalidKey`, `invalidURL`.
    public convenience init(key: [UInt8], options: AdminOptions = AdminOptions()) throws(AdminError) {
        let account: ServiceAccountKey
        do throws(ServiceAccountKey.Failure) { account = try ServiceAccountKey(key) } catch {
            throw AdminError(.invalidKey, "\(error)")
        }
        var options = options
        options.projectID = options.projectID ?? account.project
        try self.init(
            try HTTPRequests.url(account.server), .key(account), options: options, connection: try options.connection)
    }

    /// An administrator of a server in development mode, which needs no credential. Unsigned ID tokens are valid there,
    /// so this is never for production.
    ///
    /// - parameter url: `http://127.0.0.1:9000`, for example.
    /// - parameter options: time limits, certificates, project and tenant.
    /// - throws: `invalidURL`.
    public convenience init(developmentURL url: String, options: AdminOptions = AdminOptions()) throws(AdminError) {
        try self.init(try HTTPRequests.url(url), nil, options: options, connection: try options.connection)
    }

    /// For tools with other kinds of credentials.
    ///
    /// - parameter loop: a running loop; nil to start one.
    package init(
        _ url: DatabaseURL, _ credential: Credential?, options: AdminOptions, connection: ConnectionOptions,
        loop: EventLoop? = nil
    ) throws(AdminError) {
        self.url = url.description
        let http = try HTTPRequests(url, options: connection, patience: options.requestTimeout, loop: loop)
        requests = AdminRequests(http, credential: credential)
        verifier = IDTokenVerifier(
            http, mode: credential == nil ? .development : .production, projectID: options.projectID,
            apiKey: options.apiKey)
        tenantID = options.tenantID
        let project = DatabaseURL.encoded(Array((options.projectID ?? "-").utf8))
        let tenant = options.tenantID.map { "/tenants/" + DatabaseURL.encoded(Array($0.utf8)) } ?? ""
        accounts = "/identitytoolkit.googleapis.com/v1/projects/\(project)\(tenant)/accounts"
    }

    /// A database client with the administrator's rights, not restricted by rules.
    ///
    /// - parameters:
    ///   - url: the database, as in `Database(url:)`; nil for the server's default database.
    ///   - options: the client's options. `auth` and `tokenProvider` are replaced.
    /// - throws: as `Database(url:options:)`.
    public func database(
        url: String? = nil, options: DatabaseOptions = DatabaseOptions()
    ) throws(DatabaseError) -> Database {
        var options = options
        options.auth = nil
        let requests = requests
        options.tokenProvider = { isNewWanted in
            String(decoding: try await requests.token(isNewWanted: isNewWanted), as: UTF8.self)
        }
        return try Database(url: url ?? self.url, options: options)
    }
}
