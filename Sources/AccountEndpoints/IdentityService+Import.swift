import HearthBytes
import HearthIdentity
import HearthJSONValues
import HearthHTTPResponses

/// Taking over users from elsewhere (accounts.md 14).
extension IdentityService {
    private static let usersMax = 1000

    func batchCreate(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let administrator = try requireAdministrator(request)
        let fields = try request.fields()
        let realm = try realm(request, fields, isAdmin: true)
        let entries = try fields.objects("users")
        guard !entries.isEmpty else { throw .refused(.missingUserAccount) }
        guard entries.count <= Self.usersMax else {
            throw .request(.invalidArgument("At most \(Self.usersMax) users can be imported at a time."))
        }
        var isHashed = false
        for entry in entries { isHashed = try entry.passwordHash != nil || isHashed }
        let passwords = try passwordImport(fields, isNeeded: isHashed)
        var users: [ImportedUser] = []
        var ids: Set<String> = []
        for entry in entries {
            let user = try importedUser(entry, passwords)
            guard user.user.id.isEmpty || ids.insert(user.user.id).inserted else {
                throw .refused(.duplicateLocalID, user.user.id)
            }
            users.append(user)
        }
        let problems = try accounts.importUsers(
            users, overwrites: try fields.bool("allowOverwrite") ?? true, in: realm)
        noteAdministration("batchCreate", "\(users.count - problems.count)", by: administrator, request)
        let errors = problems.map { problem in
            JSONValue.object(
                JSONObject(["index": .integer(Int64(problem.index)), "message": .text(problem.message)]))
        }
        return HTTPResponse(
            identity: JSONObject([
                "kind": .text("identitytoolkit#UploadAccountResponse"), "error": errors.isEmpty ? nil : .array(errors),
            ]))
    }

    private func passwordImport(_ fields: IdentityFields, isNeeded: Bool) throws(AccountFailure) -> PasswordImport? {
        guard isNeeded else { return nil }
        do throws(PasswordImport.Failure) { return try PasswordImport(fields.object) } catch {
            switch error {
            case .missingAlgorithm: throw .refused(.missingHashAlgorithm)
            case .unsupportedAlgorithm: throw .refused(.invalidHashAlgorithm)
            case .invalidParameter(let name): throw .request(.invalidArgument("Invalid value at '\(name)'"))
            }
        }
    }

    private func importedUser(
        _ entry: IdentityFields, _ passwords: PasswordImport?
    ) throws(AccountFailure) -> ImportedUser {
        let now = accounts.now
        var user = User(id: try entry.text("localId") ?? "", createdAt: try entry.integer("createdAt") ?? now)
        user.email = try entry.text("email")
        user.emailVerified = try entry.bool("emailVerified") ?? false
        user.displayName = try entry.text("displayName")
        user.photoURL = try entry.text("photoUrl")
        user.phone = try entry.text("phoneNumber")
        user.isDisabled = try entry.bool("disabled") ?? false
        user.claims = try entry.text("customAttributes")
        user.lastLoginAt = try entry.integer("lastLoginAt")
        user.validSince = User.validSince(seconds: try entry.integer("validSince") ?? now / 1000, now: now)
        var problem: String?
        let plainPassword = try entry.text("rawPassword")
        if let hash = try entry.passwordHash {
            user.password = passwords?.kept(hash: hash, salt: try entry.bytes("salt") ?? [])
            user.passwordUpdatedAt = try entry.integer("passwordUpdatedAt") ?? now
            if Base64.decodeAny(hash) == Base64.decodeAny(Array(User.redactedHash.utf8)) {
                problem = "password hash was redacted where it comes from"
            } else if user.password == nil {
                problem = "password hash or salt is invalid"
            }
        }
        if try entry.hasSecondFactors {
            return ImportedUser(user: user, problem: "second factors are not supported")
        }
        for link in try entry.objects("providerUserInfo") {
            let provider = try link.text("providerId") ?? ""
            if provider == ProviderLink.password || provider == ProviderLink.phone { continue }
            let federatedID = try link.text("federatedId") ?? ""
            var entry = ProviderLink(provider: provider, rawID: try link.text("rawId") ?? federatedID)
            entry.email = try link.text("email")
            entry.displayName = try link.text("displayName")
            entry.photoURL = try link.text("photoUrl")
            user.links.append(entry)
        }
        return ImportedUser(
            user: user, plainPassword: plainPassword, problem: plainPassword == nil ? problem : nil)
    }
}

extension IdentityFields {
    /// A user is to have second factors, which this server has not: without them anybody with the password would be the
    /// user. They are in `mfaInfo`, or in `mfa` in a change.
    fileprivate var hasSecondFactors: Bool {
        get throws(AccountFailure) {
            if try !objects("mfaInfo").isEmpty { return true }
            return try object("mfa")?.objects("enrollments").isEmpty == false
        }
    }

    func refuseSecondFactors() throws(AccountFailure) {
        if try hasSecondFactors { throw .request(.notImplemented("Second factors are not supported.")) }
    }

    /// Base64 as it came. An empty one counts as none.
    fileprivate var passwordHash: [UInt8]? {
        get throws(AccountFailure) { try bytes("passwordHash").flatMap { $0.isEmpty ? nil : $0 } }
    }
}
