package import HearthIdentity

/// Where requests find their accounts: in which project, and which tenant of it (accounts.md 3).
extension IdentityService {
    /// A client's tenant is in its body or its token, an administrator's project in the path or the body.
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
        tenant = request.route.tenant ?? tenant
        if isAdmin { return try namedRealm(request.route.project ?? named, tenant) }
        let project = isDevelopment ? try clientProject(request, fields, tenant) : nil
        return try accounts.realm(project: project, tenant: tenant)
    }

    /// The parameters of a client's operation, and its realm. An administrator's program may do it for the users of a
    /// project that it names.
    func asked(_ request: IdentityRequest) throws(AccountFailure) -> (fields: IdentityFields, realm: Realm) {
        let isAdmin = try isAdministrator(request)
        let fields = try request.fields()
        return (fields, try realm(request, fields, isAdmin: isAdmin && fields.has("targetProjectId")))
    }

    /// The realm that an administrator or a tool names, whose clients may use it, too.
    func namedRealm(_ project: String?, _ tenant: String?) throws(AccountFailure) -> Realm {
        let realm = try accounts.realm(project: project, tenant: tenant)
        if isDevelopment, realm.project == project { try accounts.learn(.tool(project: realm.project)) }
        return realm
    }

    /// The realm of a one-time code.
    func realm(ofCode code: String, tenant: String?) throws(AccountFailure) -> Realm {
        try accounts.realm(project: isDevelopment ? try accounts.project(ofCode: code) : nil, tenant: tenant)
    }

    /// A client connects to a database, which may tell the project of its app. Waits.
    package func learn(_ naming: ClientProjects.Naming) {
        do throws(AccountFailure) { try accounts.learn(naming) } catch { report(error) }
    }

    /// The project of a client in development mode: of its token, its code, its app, or the user that it names. Nil for
    /// the current one.
    private func clientProject(
        _ request: IdentityRequest, _ fields: IdentityFields, _ tenant: String?
    ) throws(AccountFailure) -> String? {
        if let token = try fields.bytes("idToken"), let project = accounts.project(of: token) { return project }
        if let code = try fields.text("oobCode"), let project = try accounts.project(ofCode: code) { return project }
        var email: String?
        switch request.route.operation {
        case .signInWithCustomToken:
            // Only of a chosen project are the users of others' service accounts, too.
            guard accounts.projects.isLearning, let token = try fields.bytes("token") else { break }
            if let project = try? CustomToken(trusting: token).project { return project }
        case .signInWithPassword, .sendCode: email = try fields.text("email")
        case .createAuthURI: email = try fields.text("identifier")
        default: break
        }
        return try accounts.project(ofUser: email, tenant: tenant, key: request.apiKey, app: request.app)
    }
}
