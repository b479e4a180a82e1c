package import HearthEventLoop
public import HearthClient
import HearthJSONValues
import HearthSystem
package import HearthClientSession
package import HearthConnection

/// What a back end does with a server as its administrator: verify ID tokens, make custom tokens, manage users, read
/// and replace rules, and read and write data that no rules restrict.
///
///     let admin = try Administrator(keyFile: "/etc/my-app/key.json")
///     let user = try await admin.createUser(NewUser(email: "ann@example.com", password: password))
///     try await admin.setCustomClaims(["role": "editor"], of: user.uid)
///
/// A key is made by `hearth admin create-key FILE`, and names its server. Access tokens for it are asked for and
/// renewed without the program's doing.
///
/// **Threads.** Any task or thread may use it. It has one thread of its own, which ends with its last reference.
public final class Administrator: Sendable {
    /// The server, where it answers administrators.
    public let url: String
    let requests: AdminRequests
    let verifier: IDTokenVerifier
    /// The path of the accounts of the project and tenant.
    let accounts: String
    let tenantID: String?

    /// An administrator with a key, at the server that the key names.
    ///
    /// - parameter keyFile: the path of the key. A file that others may read is refused.
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

    /// An administrator with a key, at the server that the key names.
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

    /// For tools, which have credentials of other kinds.
    ///
    /// - parameter loop: a running loop; nil for one of its own.
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

    /// A client that reads and writes data as the administrator. Rules do not restrict it.
    ///
    /// - parameters:
    ///   - url: the database, as in `Database(url:)`; nil for the server's default database.
    ///   - options: those of the client. `auth` and `tokenProvider` are replaced.
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
