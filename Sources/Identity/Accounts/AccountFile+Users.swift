import HearthServerFiles
import HearthSQLite

/// The rows of users and of their links.
extension AccountFile {
    private struct Flags: OptionSet {
        let rawValue: Int64

        static let emailVerified = Flags(rawValue: 1)
        static let disabled = Flags(rawValue: 2)
        static let emailLink = Flags(rawValue: 4)
        static let customAuth = Flags(rawValue: 8)
        static let renewedTokens = Flags(rawValue: 16)

        init(rawValue: Int64) { self.rawValue = rawValue }

        init(_ user: User) {
            self = []
            if user.emailVerified { insert(.emailVerified) }
            if user.isDisabled { insert(.disabled) }
            if user.hasEmailLink { insert(.emailLink) }
            if user.hasCustomAuth { insert(.customAuth) }
            if user.hasRenewedTokens { insert(.renewedTokens) }
        }
    }

    static func isDisabled(flags: Int64) -> Bool { Flags(rawValue: flags).contains(.disabled) }
    static func hasRenewedTokens(flags: Int64) -> Bool { Flags(rawValue: flags).contains(.renewedTokens) }

    /// Without the realm.
    private static let columns = AccountTable.users.columns.dropFirst().joined(separator: ", ")

    /// Never replaces another user's row: that is an error.
    private static let upsert = """
        \(AccountTable.users.insertion) ON CONFLICT (realm, id) DO UPDATE SET
        \((AccountTable.users.columns.dropFirst(2) + ["checksum"]).map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
        """

    func user(_ realm: Realm, id: String) throws(AccountFailure) -> User? {
        try users(realm, "id = ?", [.text(id)]).first
    }

    func user(_ realm: Realm, email: String) throws(AccountFailure) -> User? {
        try users(realm, "email = ?", [.text(email)]).first
    }

    func user(_ realm: Realm, phone: String) throws(AccountFailure) -> User? {
        try users(realm, "phone = ?", [.text(phone)]).first
    }

    func user(_ realm: Realm, provider: String, rawID: String) throws(AccountFailure) -> User? {
        let owner = try rows(
            of: .links, "user", where: "realm = ? AND provider = ? AND rawID = ?",
            [.text(realm.key), .text(provider), .text(rawID)]
        ) { $0.text(0) }.first
        return try owner.flatMap { (id) throws(AccountFailure) in try user(realm, id: id) }
    }

    /// By ascending id, from after `last`.
    func users(_ realm: Realm, after last: String, limit: Int) throws(AccountFailure) -> [User] {
        try users(realm, "id > ? ORDER BY id LIMIT ?", [.text(last), .integer(Int64(limit))])
    }

    func userCount(_ realm: Realm) throws(AccountFailure) -> Int {
        Int(try integer("SELECT count(*) FROM users WHERE realm = ?", [.text(realm.key)]) ?? 0)
    }

    /// Users in an order of their own: `order` is a term of this program's text.
    func users(_ realm: Realm, order: StaticString, offset: Int, limit: Int) throws(AccountFailure) -> [User] {
        try users(realm, "true ORDER BY \(order) LIMIT ? OFFSET ?", [.integer(Int64(limit)), .integer(Int64(offset))])
    }

    private func users(_ realm: Realm, _ condition: String, _ parameters: [Parameter]) throws(AccountFailure) -> [User]
    {
        var users = try rows(
            of: .users, Self.columns, where: "realm = ? AND \(condition)", [.text(realm.key)] + parameters, Self.user)
        for index in users.indices { users[index].links = try links(realm, of: users[index].id) }
        return users
    }

    private static func user(_ row: Statement) -> User {
        var user = User(id: row.text(0), createdAt: row.integer(10))
        user.email = row.optionalText(1)
        user.password = row.optionalText(2)
        user.passwordUpdatedAt = row.optionalInteger(3)
        user.displayName = row.optionalText(4)
        user.photoURL = row.optionalText(5)
        user.phone = row.optionalText(6)
        let flags = Flags(rawValue: row.integer(7))
        user.emailVerified = flags.contains(.emailVerified)
        user.isDisabled = flags.contains(.disabled)
        user.hasEmailLink = flags.contains(.emailLink)
        user.hasCustomAuth = flags.contains(.customAuth)
        user.hasRenewedTokens = flags.contains(.renewedTokens)
        user.claims = row.optionalText(8)
        user.validSince = row.integer(9)
        user.lastLoginAt = row.optionalInteger(11)
        user.lastRefreshAt = row.optionalInteger(12)
        user.initialEmail = row.optionalText(13)
        return user
    }

    private func links(_ realm: Realm, of user: String) throws(AccountFailure) -> [ProviderLink] {
        try rows(
            of: .links, "provider, rawID, email, displayName, photoURL", where: "realm = ? AND user = ? ORDER BY place",
            [.text(realm.key), .text(user)]
        ) { row in
            var link = ProviderLink(provider: row.text(0), rawID: row.text(1))
            link.email = row.optionalText(2)
            link.displayName = row.optionalText(3)
            link.photoURL = row.optionalText(4)
            return link
        }
    }

    // MARK: Writing

    /// Writes a user. The caller must ensure that no other user has the address, number or links.
    func put(_ user: User, in realm: Realm) throws(AccountFailure) {
        let flags = try integer(
            "SELECT flags FROM users WHERE realm = ? AND id = ?", [.text(realm.key), .text(user.id)])
        if let flags, user.isDisabled, !Flags(rawValue: flags).contains(.disabled) {
            note(Revocation(realm: realm, user: user.id, loss: .disabled))
        }
        guard flags != nil || AccountTable.users.isShareable([realm.key, user.id]) else { throw Self.longName }
        try run(
            Self.upsert,
            [
                .text(realm.key), .text(user.id), .text(user.email), .text(user.password),
                .integer(user.passwordUpdatedAt), .text(user.displayName), .text(user.photoURL), .text(user.phone),
                .integer(Flags(user).rawValue), .text(user.claims), .integer(user.validSince),
                .integer(user.createdAt), .integer(user.lastLoginAt), .integer(user.lastRefreshAt),
                .text(user.initialEmail),
            ])
        let former = try links(realm, of: user.id)
        guard former != user.links else { return }
        for link in user.links where !former.contains(where: { $0.provider == link.provider && $0.rawID == link.rawID })
        {
            guard AccountTable.links.isShareable([realm.key, link.provider, link.rawID]) else { throw Self.longName }
        }
        try run("DELETE FROM links WHERE realm = ? AND user = ?", [.text(realm.key), .text(user.id)])
        for (place, link) in user.links.enumerated() {
            try run(
                AccountTable.links.insertion,
                [
                    .text(realm.key), .text(link.provider), .text(link.rawID), .text(user.id), .integer(Int64(place)),
                    .text(link.email), .text(link.displayName), .text(link.photoURL),
                ])
        }
    }

    private static let longName = AccountFailure.refused(
        .invalidArgument, "The ID of the user, or the user's ID at another provider, is too long.")

    /// Removes a user, and the links to sign in that were sent to the user's address.
    func remove(_ user: User, in realm: Realm) throws(AccountFailure) {
        if let email = user.email { try removeSignInCodes(realm, sentTo: email) }
        try removeUser(realm, id: user.id)
    }

    /// Removes a user with everything that belongs to it. Its refresh tokens stay, void, so that clients hear that the
    /// user is gone, and do not come back to life with another user of the same id.
    func removeUser(_ realm: Realm, id: String) throws(AccountFailure) {
        try revokeGrants(of: id, in: realm)
        for (table, column) in [("links", "user"), ("codes", "user"), ("users", "id")] {
            try run("DELETE FROM \(table) WHERE realm = ? AND \(column) = ?", [.text(realm.key), .text(id)])
        }
        note(Revocation(realm: realm, user: id, loss: .account))
    }

    func removeAll(_ realm: Realm) throws(AccountFailure) {
        let ids = try rows("SELECT id FROM users WHERE realm = ?", [.text(realm.key)]) { $0.text(0) }
        for id in ids { try removeUser(realm, id: id) }
        try run("DELETE FROM codes WHERE realm = ?", [.text(realm.key)])
    }
}
