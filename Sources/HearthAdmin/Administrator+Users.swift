import HearthHTTPCodec
public import HearthClient
package import HearthJSONValues
import HearthSystem
import HearthClientSession

/// Users (accounts.md 4).
extension Administrator {
    /// The user with an id.
    ///
    /// - throws: `userNotFound`; `notForAdministrators`, `unauthenticated`, `unavailable`, `cancelled`, like the other
    ///   methods.
    public func user(uid: String) async throws(AdminError) -> UserRecord { try await user("localId", uid) }

    /// The user with an email address.
    public func user(email: String) async throws(AdminError) -> UserRecord { try await user("email", email) }

    /// The user with a telephone number.
    public func user(phoneNumber: String) async throws(AdminError) -> UserRecord {
        try await user("phoneNumber", phoneNumber)
    }

    /// A user by id, email address or telephone number, depending on the form of the text.
    package func user(named name: String) async throws(AdminError) -> UserRecord {
        try await user(name.contains("@") ? "email" : name.hasPrefix("+") ? "phoneNumber" : "localId", name)
    }

    private func user(_ field: String, _ value: String) async throws(AdminError) -> UserRecord {
        let found = try await post(":lookup", JSONObject([field: .array([.text(value)])]))
        guard let user = found["users"]?.array?.first?.object else {
            throw AdminError(.userNotFound, "there is no user '\(value)'")
        }
        return try UserRecord(user)
    }

    /// All users, in the order of their ids.
    ///
    ///     for try await user in admin.users { print(user.uid, user.email ?? "") }
    public var users: UserRecords {
        UserRecords { (last) async throws(AdminError) in
            let page = try await self.page(after: last)
            return (page.users, page.next)
        }
    }

    /// Creates a user.
    ///
    /// - returns: the user as stored by the server.
    /// - throws: `emailAlreadyExists`, `uidAlreadyExists`, `phoneNumberAlreadyExists`, `invalidEmail`,
    ///   `invalidPhoneNumber`, `weakPassword`, `invalidArgument`; as ``user(uid:)``.
    @discardableResult
    public func createUser(_ user: NewUser = NewUser()) async throws(AdminError) -> UserRecord {
        let made = try await post("", user.members)
        return try await self.user(uid: made["localId"]?.text ?? "")
    }

    /// Changes a user.
    ///
    /// - returns: the user after the change.
    /// - throws: as ``createUser(_:)``; `userNotFound`.
    @discardableResult
    public func updateUser(_ uid: String, _ update: UserUpdate) async throws(AdminError) -> UserRecord {
        try await change(uid, update.members)
        return try await user(uid: uid)
    }

    /// Deletes a user and ends all sessions. The user's data stays.
    ///
    /// - throws: as ``user(uid:)``.
    public func deleteUser(_ uid: String) async throws(AdminError) {
        _ = try await post(":delete", JSONObject(["localId": .text(uid)]))
    }

    /// Replaces the custom claims, which rules read in `auth.token`. They apply from the user's next ID token on. An
    /// empty dictionary removes them.
    ///
    /// - parameter claims: at most 1,000 characters as JSON, no reserved names such as `sub`.
    /// - parameter uid: the user.
    /// - throws: `claimsTooLarge`, `invalidClaims`; as ``user(uid:)``.
    public func setCustomClaims(_ claims: [String: DatabaseValue], of uid: String) async throws(AdminError) {
        let text = try CustomTokenClaims.text(of: claims)
        try await change(uid, JSONObject(["customAttributes": .string(text)]))
    }

    /// Ends all sessions of a user: ID tokens and refresh tokens issued so far are void.
    ///
    /// - throws: as ``user(uid:)``.
    public func revokeRefreshTokens(of uid: String) async throws(AdminError) {
        try await change(uid, JSONObject(["validSince": .text(String(WallClock.milliseconds / 1000))]))
    }

    // MARK: Requests

    /// Changes members of a user, with the members of the request `update`.
    package func change(_ uid: String, _ members: JSONObject) async throws(AdminError) {
        var request = members
        request["localId"] = .text(uid)
        _ = try await post(":update", request)
    }

    /// - parameter operation: such as `:lookup`; empty to create a user.
    package func post(_ operation: String, _ body: JSONObject) async throws(AdminError) -> JSONObject {
        try await requests.object(.post, accounts + operation, body)
    }

    /// Up to 1,000 users in the order of their ids, after the last one of a page.
    ///
    /// - returns: `next` for the next page; nil after the last page.
    package func page(
        after last: String?, withPasswords: Bool = false
    ) async throws(AdminError) -> (answer: JSONObject, users: [UserRecord], next: String?) {
        let start = last.map { "&nextPageToken=" + DatabaseURL.encoded(Array($0.utf8)) } ?? ""
        let passwords = withPasswords ? "" : "&returnPasswords=false"
        let answer = try await requests.object(.get, accounts + ":batchGet?maxResults=1000\(start)\(passwords)", nil)
        var users: [UserRecord] = []
        for user in (answer["users"]?.array ?? []).compactMap(\.object) { users.append(try UserRecord(user)) }
        return (answer, users, answer["nextPageToken"]?.text)
    }
}
