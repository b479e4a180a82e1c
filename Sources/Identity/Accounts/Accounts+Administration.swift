import HearthJSONValues

/// How administrators name users.
package enum UserSelector: Sendable {
    case id(String)
    case email(String)
    case phone(String)
    case federated(provider: String, rawID: String)
}

/// A user to be taken over from elsewhere, or why not.
package struct ImportedUser: Sendable {
    package var user: User
    /// Hashed when it is kept.
    package var plainPassword: String?
    /// Why the user cannot be taken over, if that is known already.
    package var problem: String?

    package init(user: User, plainPassword: String? = nil, problem: String? = nil) {
        self.user = user
        self.plainPassword = plainPassword
        self.problem = problem
    }
}

/// Administrators' operations on accounts (accounts.md 4).
extension Accounts {
    /// The user of a client's ID token.
    package func lookUp(_ idToken: [UInt8]?, in realm: Realm) throws(AccountFailure) -> User {
        guard let idToken else { throw .refused(.missingIDToken) }
        let token = try verify(idToken, in: realm)
        return try thread.run { (file) throws(AccountFailure) in try file.user(realm, of: token) }
    }

    /// The users that are there, each once.
    package func lookUp(_ selectors: [UserSelector], in realm: Realm) throws(AccountFailure) -> [User] {
        try thread.run { (file) throws(AccountFailure) in
            var users: [User] = []
            var ids: Set<[UInt8]> = []
            for selector in selectors {
                let user =
                    switch selector {
                    case .id(let id): try file.user(realm, id: id)
                    case .email(let email): try file.user(realm, email: email.lowercased())
                    case .phone(let phone): try file.user(realm, phone: phone)
                    case .federated(ProviderLink.password, let email): try file.user(realm, email: email.lowercased())
                    case .federated(ProviderLink.phone, let phone): try file.user(realm, phone: phone)
                    case .federated(let provider, let rawID):
                        try file.user(realm, provider: provider, rawID: rawID)
                    }
                if let user, ids.insert(Array(user.id.utf8)).inserted { users.append(user) }
            }
            return users
        }
    }

    package func delete(user id: String, in realm: Realm) throws(AccountFailure) {
        try thread.run { (file) throws(AccountFailure) in
            guard let user = try file.user(realm, id: id) else { throw .refused(.userNotFound) }
            try file.remove(user, in: realm)
        }
    }

    /// Removes users, all in one commit. Who is not there is no error; who is not disabled stays, unless `force` is
    /// given.
    ///
    /// - returns: the indexes of those who stay.
    package func delete(users ids: [String], force: Bool, in realm: Realm) throws(AccountFailure) -> [Int] {
        try thread.run { (file) throws(AccountFailure) in
            var kept: [Int] = []
            for (index, id) in ids.enumerated() {
                guard let user = try file.user(realm, id: id) else { continue }
                if force || user.isDisabled {
                    try file.remove(user, in: realm)
                } else {
                    kept.append(index)
                }
            }
            return kept
        }
    }

    package func deleteAll(in realm: Realm) throws(AccountFailure) {
        try thread.run { (file) throws(AccountFailure) in try file.removeAll(realm) }
        attempts.forgetAll()
        familiar.removeAll()
    }

    /// A page of users by ascending id.
    package func users(in realm: Realm, after last: String, limit: Int) throws(AccountFailure) -> [User] {
        try thread.run { (file) throws(AccountFailure) in try file.users(realm, after: last, limit: limit) }
    }

    package enum Order: String, Sendable {
        case id = "USER_ID"
        case name = "NAME"
        case created = "CREATED_AT"
        case lastLogin = "LAST_LOGIN_AT"
        case email = "USER_EMAIL"

        fileprivate func term(isDescending: Bool) -> StaticString {
            switch (self, isDescending) {
            case (.id, false): "id"
            case (.id, true): "id DESC"
            case (.name, false): "displayName, id"
            case (.name, true): "displayName DESC, id DESC"
            case (.created, false): "createdAt, id"
            case (.created, true): "createdAt DESC, id DESC"
            case (.lastLogin, false): "lastLoginAt, id"
            case (.lastLogin, true): "lastLoginAt DESC, id DESC"
            case (.email, false): "email, id"
            case (.email, true): "email DESC, id DESC"
            }
        }
    }

    package func users(
        in realm: Realm, order: Order, isDescending: Bool, offset: Int, limit: Int
    ) throws(AccountFailure) -> [User] {
        let term = order.term(isDescending: isDescending)
        return try thread.run { (file) throws(AccountFailure) in
            try file.users(realm, order: term, offset: offset, limit: limit)
        }
    }

    package func userCount(in realm: Realm) throws(AccountFailure) -> Int {
        try thread.run { (file) throws(AccountFailure) in try file.userCount(realm) }
    }

    // MARK: Import

    /// Takes users over, those that can be, in one commit (accounts.md 4). Where the ways to sign in of an existing
    /// user change by that, the user's sessions end. Former addresses get no mail.
    ///
    /// - returns: the errors of the others, by index.
    package func importUsers(
        _ imported: [ImportedUser], overwrites: Bool, in realm: Realm
    ) throws(AccountFailure) -> [(index: Int, message: String)] {
        var users: [(user: User?, problem: String?)] = []
        for entry in imported {
            var user = entry.user
            if let problem = entry.problem ?? Self.problem(of: &user) ?? Self.problem(ofPassword: entry.plainPassword) {
                users.append((nil, problem))
                continue
            }
            if let password = entry.plainPassword { user.password = try hash(password) }
            users.append((user, nil))
        }
        let checked = users
        return try thread.run { (file) throws(AccountFailure) in
            var problems: [(index: Int, message: String)] = []
            for (index, entry) in checked.enumerated() {
                guard let user = entry.user else {
                    problems.append((index, entry.problem ?? ""))
                    continue
                }
                if let problem = try file.problem(of: user, overwrites: overwrites, in: realm) {
                    problems.append((index, problem))
                } else {
                    try file.putImported(user, in: realm, now: self.now)
                }
            }
            return problems
        }
    }

    private static func problem(ofPassword password: String?) -> String? {
        guard let password, password.utf8.count > PasswordHasher.passwordByteCountMax else { return nil }
        return "password is too long"
    }

    /// The error of a user by itself. Values with several spellings are put into the stored one.
    private static func problem(of user: inout User) -> String? {
        if user.id.isEmpty { return "localId is missing" }
        if user.id.utf8.count > TokenAuthority.uidByteCountMax { return "localId is too long" }
        if let email = user.email {
            guard let email = try? AccountNames.email(email) else { return "email is invalid" }
            user.email = email
        }
        if let phone = user.phone {
            guard let phone = try? AccountNames.phone(phone) else { return "phone number format is invalid" }
            user.phone = phone
        }
        if (try? AccountNames.check(displayName: user.displayName, photoURL: nil)) == nil {
            return "displayName is too long"
        }
        if (try? AccountNames.check(displayName: nil, photoURL: user.photoURL)) == nil { return "photoUrl is too long" }
        // One that comes twice is one.
        var seen: Set<ProviderLink> = []
        user.links.removeAll { !seen.insert(ProviderLink(provider: $0.provider, rawID: $0.rawID)).inserted }
        guard user.links.allSatisfy({ !$0.provider.isEmpty && !$0.rawID.isEmpty }) else {
            return "federatedId or (providerId & rawId) is required"
        }
        // Neither is to be lost unnoticed.
        guard Set(user.links.map(\.provider)).count == user.links.count else {
            return "providerUserInfo has two accounts of one provider"
        }
        guard let claims = user.claims else { return nil }
        do throws(AccountFailure) {
            _ = try AccountNames.claims(claims)
            return nil
        } catch {
            guard case .refused(let error) = error else { return "Invalid custom claims provided." }
            return switch error.code {
            case .claimsTooLarge: "Custom claims provided are too large."
            case .forbiddenClaim: "Custom claims provided include a reserved claim."
            default: "Invalid custom claims provided."
            }
        }
    }
}

extension AccountFile {
    /// Writes an imported user. An import makes no void token valid again.
    fileprivate func putImported(_ imported: User, in realm: Realm, now: Int64) throws(AccountFailure) {
        guard let before = try user(realm, id: imported.id) else { return try put(imported, in: realm) }
        if let email = imported.email, email != before.email {
            _ = try removeRecoveryCodes(realm, of: imported.id, since: email)
        }
        var user = imported
        // Imports do not name these.
        user.hasCustomAuth = before.hasCustomAuth
        user.hasEmailLink = before.hasEmailLink && user.email == before.email
        if user.validSince > before.validSince || !user.signInChanges(since: before).isEmpty {
            user.validSince = max(user.validSince, before.validSince)
            user.voidTokens(now: now)
            try put(user, in: realm)
            try revokeTokens(of: user, in: realm)
        } else {
            user.validSince = before.validSince
            try put(user, in: realm)
        }
    }

    /// Why a user conflicts with existing ones.
    fileprivate func problem(of user: User, overwrites: Bool, in realm: Realm) throws(AccountFailure) -> String? {
        if !overwrites, try self.user(realm, id: user.id) != nil {
            return "localId belongs to an existing account - can not overwrite."
        }
        if !AccountTable.users.isShareable([realm.key, user.id]) { return "localId is too long" }
        if let email = user.email, let owner = try self.user(realm, email: email), owner.id != user.id {
            return "email exists in other account in database"
        }
        if let phone = user.phone, let owner = try self.user(realm, phone: phone), owner.id != user.id {
            return "phone number exists in other account in database"
        }
        for link in user.links {
            if !AccountTable.links.isShareable([realm.key, link.provider, link.rawID]) { return "rawId is too long" }
            if let owner = try self.user(realm, provider: link.provider, rawID: link.rawID), owner.id != user.id {
                return "raw id exists in other account in database"
            }
        }
        return nil
    }
}
