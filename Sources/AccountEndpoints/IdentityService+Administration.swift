import HearthHTTPCodec
import HearthIdentity
import HearthJSONValues
import HearthSecurityRules
import HearthHTTPResponses

/// Operations for administrators only (accounts.md 4).
extension IdentityService {
    func create(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let administrator = try requireAdministrator(request)
        let fields = try request.fields()
        let realm = try realm(request, fields, isAdmin: true)
        try fields.refuseSecondFactors()
        var new = try newUser(fields)
        new.phone = try fields.text("phoneNumber")
        new.emailVerified = try fields.bool("emailVerified") ?? false
        new.isDisabled = try fields.bool("disabled") ?? false
        let user = try accounts.create(new, in: realm)
        noteAdministration("create", user.id, by: administrator, request)
        return HTTPResponse(
            identity: JSONObject([
                "kind": .text("identitytoolkit#SignupNewUserResponse"), "localId": .text(user.id),
                "email": user.email.map { .text($0) }, "displayName": user.displayName.map { .text($0) },
            ]))
    }

    private static let idsMax = 1000

    func batchDelete(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let administrator = try requireAdministrator(request)
        let fields = try request.fields()
        let realm = try realm(request, fields, isAdmin: true)
        let ids = try fields.texts("localIds")
        guard !ids.isEmpty, ids.count <= Self.idsMax else { throw .refused(.localIDListTooLong) }
        let kept = try accounts.delete(users: ids, force: try fields.bool("force") ?? false, in: realm)
        noteAdministration("batchDelete", "\(ids.count - kept.count)", by: administrator, request)
        let errors = kept.map { index in
            JSONValue.object(
                JSONObject([
                    "index": .integer(Int64(index)), "localId": .text(ids[index]),
                    "message": .text("NOT_DISABLED : Disable the account before batch deletion."),
                ]))
        }
        return HTTPResponse(identity: JSONObject(["errors": errors.isEmpty ? nil : .array(errors)]))
    }

    func batchGet(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let administrator = try requireAdministrator(request)
        let fields = try request.fields()
        let realm = try realm(request, fields, isAdmin: true)
        // The parameters of a GET, or the members that version 3 posts.
        let page =
            request.method == .get ? IdentityFields(IdentityRequest.object(ofForm: Array(request.query.bytes))) : fields
        let asked = try page.integer("maxResults") ?? 20
        guard (1...1000).contains(asked) else { throw .refused(.invalidPageSelection) }
        let last = try page.text("nextPageToken") ?? ""
        let users = try accounts.users(in: realm, after: last, limit: Int(asked))
        let givesPasswords = try page.bool("returnPasswords") ?? true
        let hashConfig = PasswordExport.hashConfig(of: accounts.hasher)
        var passwordCount = 0
        let infos = users.map { user in
            var info = user.userInfo(tenant: realm.tenant)
            if givesPasswords, let exported = user.password.flatMap({ PasswordExport($0) }) {
                passwordCount += 1
                info["passwordHash"] = .string(exported.hash)
                info["salt"] = .string(exported.salt)
                info["version"] = .integer(0)
                if exported.hashConfig != hashConfig { info["hashConfig"] = .object(exported.hashConfig) }
            }
            return JSONValue.object(info)
        }
        if passwordCount > 0 {
            noteAdministration("batchGet with passwords", "\(passwordCount)", by: administrator, request)
        }
        return HTTPResponse(
            identity: JSONObject([
                "kind": .text("identitytoolkit#DownloadAccountResponse"), "users": infos.isEmpty ? nil : .array(infos),
                "hashConfig": givesPasswords ? .object(hashConfig) : nil,
                "nextPageToken": users.count == Int(asked) ? users.last.map { .text($0.id) } : nil,
            ]))
    }

    func query(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        _ = try requireAdministrator(request)
        let fields = try request.fields()
        let realm = try realm(request, fields, isAdmin: true)
        let expressions = try fields.objects("expression")
        var found: [User]
        if expressions.isEmpty {
            let count = try accounts.userCount(in: realm)
            guard try fields.bool("returnUserInfo") ?? true else {
                return HTTPResponse(identity: JSONObject(["recordsCount": .text(String(count))]))
            }
            let order = try fields.text("sortBy").flatMap { Accounts.Order(rawValue: $0) } ?? .id
            found = try accounts.users(
                in: realm, order: order, isDescending: try fields.text("order") == "DESC",
                offset: Int(clamping: max(try fields.integer("offset") ?? 0, 0)),
                limit: Int(clamping: min(max(try fields.integer("limit") ?? 500, 1), 500)))
        } else {
            var selectors: [UserSelector] = []
            for expression in expressions {
                if let id = try expression.text("userId") { selectors.append(.id(id)) }
                if let email = try expression.text("email") { selectors.append(.email(email)) }
                if let phone = try expression.text("phoneNumber") { selectors.append(.phone(phone)) }
            }
            found = try accounts.lookUp(selectors, in: realm)
        }
        let infos = found.map { JSONValue.object($0.userInfo(tenant: realm.tenant)) }
        return HTTPResponse(
            identity: JSONObject([
                "recordsCount": .text(String(infos.count)), "userInfo": infos.isEmpty ? nil : .array(infos),
            ]))
    }

    /// A user's `auth` as rules would see it: an addition of this server.
    func ruleAuth(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        _ = try requireAdministrator(request)
        let fields = try request.fields()
        let realm = try realm(request, fields, isAdmin: true)
        let email = try fields.text("email").map { UserSelector.email($0) }
        guard let selector = try fields.text("localId").map({ .id($0) }) ?? email else {
            throw .refused(.missingLocalID)
        }
        guard let user = try accounts.lookUp([selector], in: realm).first else { throw .refused(.userNotFound) }
        let (provider, claims) = accounts.supposedClaims(of: user, in: realm)
        let auth = RuleAuth.json(uid: Array(user.id.utf8), provider: Array(provider.utf8), claims: claims.bytes)
        let answer = JSONObject(["localId": .text(user.id), "auth": try? JSONValue(parsing: auth)])
        return HTTPResponse(identity: answer)
    }

    func createSessionCookie(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let administrator = try requireAdministrator(request)
        let fields = try request.fields()
        guard let idToken = try fields.bytes("idToken") else { throw .refused(.missingIDToken) }
        let realm = try namedRealm(request.route.project, request.route.tenant ?? accounts.tenant(of: idToken))
        let seconds = try fields.integer("validDuration") ?? TokenAuthority.sessionCookieSeconds.upperBound
        let cookie = try accounts.sessionCookie(idToken, seconds: seconds, in: realm)
        noteAdministration("createSessionCookie", "1", by: administrator, request)
        return HTTPResponse(identity: JSONObject(["sessionCookie": .string(cookie)]))
    }

    /// The settings of a project that can be seen and, in development mode, changed (accounts.md 4).
    func projectSettings(
        _ request: IdentityRequest, needsCredential: Bool
    ) throws(AccountFailure) -> HTTPResponse {
        if needsCredential { _ = try requireAdministrator(request) }
        if request.method == .patch {
            guard isDevelopment else { throw .request(.notImplemented("Settings are set when the server starts.")) }
            let fields = try request.fields()
            let changes = try SettingChanges(fields, mask: request.parameter("updateMask") ?? "")
            if changes.concern("signIn"), try fields.object("signIn")?.bool("allowDuplicateEmails") == true {
                throw .request(.notImplemented("An address belongs to one account."))
            }
            if changes.concern("emailPrivacyConfig"),
                let hides = try fields.object("emailPrivacyConfig")?.bool("enableImprovedEmailPrivacy")
            {
                accounts.hidesEmails = hides
            }
        }
        let signIn = JSONObject(["allowDuplicateEmails": .bool(false)])
        let privacy = JSONObject(["enableImprovedEmailPrivacy": .bool(accounts.hidesEmails)])
        return HTTPResponse(
            identity: JSONObject(["signIn": .object(signIn), "emailPrivacyConfig": .object(privacy)]))
    }
}

/// The settings of a project that a request changes: those of its mask, or without one all in its body.
private struct SettingChanges {
    private static let known: Set = [
        "name", "signIn", "signIn.allowDuplicateEmails", "emailPrivacyConfig",
        "emailPrivacyConfig.enableImprovedEmailPrivacy",
    ]
    private static let knownInSnakeCase = Set(known.map { IdentityFields.snakeCase($0) })

    private let mask: [Substring]

    /// - throws: for settings that this server does not have, which would be lost otherwise.
    init(_ fields: IdentityFields, mask text: String) throws(AccountFailure) {
        mask = text.split(separator: ",")
        var paths = mask.map { String($0) }
        for member in fields.object.members where member.value != .null {
            let name = String(decoding: member.name, as: UTF8.self)
            let parts = member.value.object?.members.map { "\(name).\(String(decoding: $0.name, as: UTF8.self))" } ?? []
            paths += (parts.isEmpty ? [name] : parts).filter(concern)
        }
        if let path = paths.first(where: { !Self.known.contains($0) && !Self.knownInSnakeCase.contains($0) }) {
            throw .request(.notImplemented("The setting '\(path)' is not supported."))
        }
    }

    /// Whether a setting is among them, or a part of one, or has parts among them.
    func concern(_ path: String) -> Bool {
        mask.isEmpty
            || mask.contains { masked in
                [path, IdentityFields.snakeCase(path)].contains { path in
                    path == masked || path.hasPrefix(masked + ".") || masked.hasPrefix(path + ".")
                }
            }
    }
}
