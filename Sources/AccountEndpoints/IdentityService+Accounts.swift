import HearthIdentity
import HearthJSONValues
import HearthHTTPResponses

/// Operations of users on their accounts, and of administrators on those of others (accounts.md 4).
extension IdentityService {
    func lookUp(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let isAdmin = try isAdministrator(request)
        let fields = try request.fields()
        let realm = try realm(request, fields, isAdmin: isAdmin)
        var users: [User]
        if isAdmin {
            var selectors: [UserSelector] = []
            for id in try fields.texts("localId") { selectors.append(.id(id)) }
            for email in try fields.texts("email") { selectors.append(.email(email)) }
            for phone in try fields.texts("phoneNumber") { selectors.append(.phone(phone)) }
            for link in try fields.objects("federatedUserId") {
                guard let provider = try link.text("providerId"), let rawID = try link.text("rawId") else { continue }
                selectors.append(.federated(provider: provider, rawID: rawID))
            }
            guard selectors.count <= 400 else { throw .request(.invalidArgument("Too many users are asked for.")) }
            users = try accounts.lookUp(selectors, in: realm)
        } else {
            users = [try accounts.lookUp(try fields.bytes("idToken"), in: realm)]
        }
        let infos = users.map { JSONValue.object($0.userInfo(tenant: realm.tenant)) }
        return HTTPResponse(
            identity: JSONObject([
                "kind": .text("identitytoolkit#GetAccountInfoResponse"), "users": infos.isEmpty ? nil : .array(infos),
            ]))
    }

    func update(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let administrator = try administrator(request)
        let fields = try request.fields()
        let realm = try realm(request, fields, isAdmin: administrator != nil)
        let update: UserUpdate
        if let code = try fields.text("oobCode") {
            try count(.signIn, request)
            update = try accounts.apply(code: code, in: realm)
        } else if let idToken = try fields.bytes("idToken") {
            let change = try change(fields)
            if change.email != nil { try count(.question, request) }
            update = try accounts.update(.idToken(idToken), change, in: realm)
        } else if let administrator {
            guard let id = try fields.text("localId") else { throw .refused(.missingLocalID) }
            try fields.refuseSecondFactors()
            update = try accounts.update(.user(id), try change(fields), in: realm)
            noteAdministration("update", id, by: administrator, request)
        } else {
            throw .refused(.invalidRequestType, "Unsupported request parameters.")
        }
        noteChanges(update.changes, of: update.user, request)
        send(update.recovery, request, realm)
        let user = update.user
        var answer = JSONObject([
            "kind": .text("identitytoolkit#SetAccountInfoResponse"), "localId": .text(user.id),
            "email": user.email.map { .text($0) }, "displayName": user.displayName.map { .text($0) },
            "photoUrl": user.photoURL.map { .text($0) }, "emailVerified": .bool(user.emailVerified),
            "providerUserInfo": user.providerInfo,
            "newEmail": update.emailChanged ? user.email.map { .text($0) } : nil,
            "passwordHash": user.password.map { _ in .text(User.redactedHash) },
        ])
        if let signIn = update.signIn { answer.merge(Self.tokens(signIn)) }
        return HTTPResponse(identity: answer)
    }

    private func change(_ fields: IdentityFields) throws(AccountFailure) -> UserChange {
        var change = UserChange()
        change.displayName = try fields.text("displayName")
        change.photoURL = try fields.text("photoUrl")
        change.email = try fields.text("email")
        change.password = try fields.text("password")
        change.emailVerified = try fields.bool("emailVerified")
        change.isDisabled = try fields.bool("disableUser")
        change.phone = try fields.text("phoneNumber")
        change.claims = try fields.text("customAttributes")
        change.createdAt = try fields.integer("createdAt")
        change.lastLoginAt = try fields.integer("lastLoginAt")
        change.validSince = try fields.integer("validSince")
        change.deletedProviders = Set(try fields.texts("deleteProvider"))
        change.deletedAttributes = Set(try attributes(fields))
        if let link = try fields.object("linkProviderUserInfo") {
            guard let provider = try link.text("providerId") else { throw .refused(.missingProviderID) }
            guard let rawID = try link.text("rawId") else { throw .refused(.missingRawID) }
            var entry = ProviderLink(provider: provider, rawID: rawID)
            entry.email = try link.text("email")
            entry.displayName = try link.text("displayName")
            entry.photoURL = try link.text("photoUrl")
            change.link = entry
        }
        return change
    }

    /// Attributes by name, or by number as some clients send them.
    private func attributes(_ fields: IdentityFields) throws(AccountFailure) -> [String] {
        let names = ["", "EMAIL", "DISPLAY_NAME", "PROVIDER", "PHOTO_URL", "PASSWORD", "RAW_USER_INFO"]
        guard case .array(let values)? = fields["deleteAttribute"] else { return try fields.texts("deleteAttribute") }
        return values.compactMap { value in
            if let number = value.integer {
                return names.indices.contains(Int(clamping: number)) ? names[Int(number)] : nil
            }
            return value.text
        }
    }

    func delete(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let administrator = try administrator(request)
        let fields = try request.fields()
        let realm = try realm(request, fields, isAdmin: administrator != nil)
        if let administrator {
            guard let id = try fields.text("localId") else { throw .refused(.missingLocalID) }
            try accounts.delete(user: id, in: realm)
            noteAdministration("delete", id, by: administrator, request)
        } else {
            try accounts.delete(try fields.bytes("idToken"), in: realm)
        }
        return HTTPResponse(identity: JSONObject(["kind": .text("identitytoolkit#DeleteAccountResponse")]))
    }

    // MARK: One-time codes

    /// The kinds by the numbers that some clients send (accounts.md 7).
    private static let codeKinds: [Int64: OneTimeCode.Kind] = [
        1: .resetPassword, 4: .verifyEmail, 5: .recoverEmail, 6: .emailSignIn, 7: .verifyAndChangeEmail,
    ]

    private func codeKind(_ fields: IdentityFields) throws(AccountFailure) -> OneTimeCode.Kind {
        let kind: OneTimeCode.Kind? =
            if case .integer(let number)? = fields["requestType"] { Self.codeKinds[number] } else {
                try fields.text("requestType").flatMap { OneTimeCode.Kind(rawValue: $0) }
            }
        guard let kind, kind != .recoverEmail else { throw .refused(.missingRequestType) }
        return kind
    }

    func sendCode(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let isAdmin = try isAdministrator(request)
        let fields = try request.fields()
        let realm = try realm(request, fields, isAdmin: isAdmin)
        let kind = try codeKind(fields)
        let wantsLink = try fields.bool("returnOobLink") ?? false
        if wantsLink, !isAdmin { throw .refused(.insufficientPermission) }
        let next = try continuation(try fields.text("continueUrl"))
        var subject = try fields.text("email").map { Accounts.CodeSubject.email($0) }
        if kind == .verifyEmail || kind == .verifyAndChangeEmail, !(isAdmin && subject != nil) {
            guard let idToken = try fields.bytes("idToken") else { throw .refused(.missingIDToken) }
            subject = .idToken(idToken)
        }
        if !isAdmin { try count(.mail, request) }
        if !wantsLink, !isDevelopment, case .none = configuration.delivery {
            throw .refused(.operationNotAllowed, "The server sends no mails.")
        }
        let newEmail = try fields.text("newEmail")
        // Before it is known whether anything is to be sent, so that this does not tell.
        guard wantsLink || mail.reserve(for: request.client) else { throw .busy }
        let outcome: CodeRequest
        do throws(AccountFailure) {
            outcome = try accounts.issueCode(kind, for: subject, newEmail: newEmail, in: realm, isAdmin: isAdmin)
        } catch {
            if !wantsLink { mail.free(for: request.client) }
            throw error
        }
        var members = JSONObject([
            "kind": .text("identitytoolkit#GetOobConfirmationCodeResponse"), "email": outcome.email.map { .text($0) },
        ])
        guard let issued = outcome.issued else {
            if !wantsLink { mail.sendReserved(nil, for: request.client) }
            return HTTPResponse(identity: members)
        }
        let link = CodeLink(issued, request, configuration, isDevelopment, next: next, tenant: realm.tenant)
        if wantsLink {
            members["oobCode"] = .text(issued.text)
            members["oobLink"] = .text(link.text)
            note(issued, link, realm)
            noteAdministration(
                "sendOobCode", issued.code.user ?? issued.code.email, by: try administrator(request) ?? "", request)
        } else {
            note(issued, link, realm)
            mail.sendReserved(CodeMail(issued.code, link: link.text), for: request.client)
        }
        return HTTPResponse(identity: members)
    }

    /// Where a link is to lead on, if the operator allows that.
    func continuation(_ text: String?) throws(AccountFailure) -> WebAddress? {
        guard let text, !text.isEmpty else { return nil }
        guard let address = WebAddress(text) else {
            throw .refused(.invalidContinueURI, "((expected an absolute URI with valid scheme and host))")
        }
        guard isDevelopment || configuration.authorizedDomains.contains(address.host) else {
            throw .refused(.unauthorizedDomain, "Domain not allowlisted by project")
        }
        return address
    }

    /// Sends the code by which the owner of a former address can have it back.
    func send(_ recovery: IssuedCode?, _ request: IdentityRequest, _ realm: Realm) {
        guard let recovery else { return }
        let link = CodeLink(recovery, request, configuration, isDevelopment, next: nil, tenant: realm.tenant)
        note(recovery, link, realm)
        mail.send(CodeMail(recovery.code, link: link.text), for: request.client)
    }

    func note(_ issued: IssuedCode, _ link: CodeLink, _ realm: Realm) {
        if isDevelopment { self.issued.add(issued, link: link.text, in: realm) }
    }

    func resetPassword(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        let (fields, realm) = try asked(request)
        try count(.signIn, request)
        let code =
            if let password = try fields.text("newPassword") {
                try accounts.resetPassword(try fields.text("oobCode"), to: password, in: realm)
            } else {
                try accounts.inspectCode(try fields.text("oobCode"), in: realm)
            }
        return HTTPResponse(
            identity: JSONObject([
                "kind": .text("identitytoolkit#ResetPasswordResponse"), "requestType": .text(code.kind.rawValue),
                "email": code.kind == .emailSignIn ? nil : .text(code.email),
                "newEmail": code.newEmail.map { .text($0) },
            ]))
    }
}
