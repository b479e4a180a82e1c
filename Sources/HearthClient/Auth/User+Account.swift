import Synchronization

/// Operations of users on their own accounts. All need the server; the changes are visible when they return.
extension User {
    // MARK: Profile

    /// A request to change the profile: set its properties, then commit it.
    public func createProfileChangeRequest() -> UserProfileChangeRequest { UserProfileChangeRequest(self) }

    /// Changes the profile. Nil leaves a member unchanged; an empty text removes it.
    public func updateProfile(displayName: String? = nil, photoURL: String? = nil) async throws(AuthError) {
        var members: [String: DatabaseValue] = [:]
        var removed: [DatabaseValue] = []
        for (name, attribute, value) in [
            ("displayName", "DISPLAY_NAME", displayName), ("photoUrl", "PHOTO_URL", photoURL),
        ] {
            guard let value else { continue }
            if value.isEmpty { removed.append(.string(attribute)) } else { members[name] = .string(value) }
        }
        if !removed.isEmpty { members["deleteAttribute"] = .array(removed) }
        if members.isEmpty { return }
        try await update(members)
    }

    private func update(_ members: [String: DatabaseValue]) async throws(AuthError) {
        try await change("update", members)
        try await reload()
    }

    // MARK: Address and password

    /// Changes the password. All other sessions of the user end.
    ///
    /// - throws: `weakPassword`; `requiresRecentLogin`, and then ``reauthenticate(with:)`` first.
    public func updatePassword(to password: String) async throws(AuthError) {
        try await update(["password": .string(password)])
    }

    /// Changes the address immediately, where the operator allows that; otherwise
    /// ``sendEmailVerification(beforeUpdatingEmail:actionCodeSettings:)``.
    ///
    /// - throws: `emailAlreadyInUse`, `invalidEmail`, `operationNotAllowed`, `requiresRecentLogin`.
    public func updateEmail(to email: String) async throws(AuthError) { try await update(["email": .string(email)]) }

    /// Sends a mail with a link by which the user proves that the address is theirs.
    public func sendEmailVerification(
        actionCodeSettings: ActionCodeSettings? = nil
    ) async throws(AuthError) {
        let members = ActionCodeSettings.members("VERIFY_EMAIL", actionCodeSettings)
        _ = try await ask("sendOobCode", members)
    }

    /// Sends a mail to a new address. The address changes once its link is used.
    public func sendEmailVerification(
        beforeUpdatingEmail newEmail: String, actionCodeSettings: ActionCodeSettings? = nil
    ) async throws(AuthError) {
        var members = ActionCodeSettings.members("VERIFY_AND_CHANGE_EMAIL", actionCodeSettings)
        members["newEmail"] = .string(newEmail)
        _ = try await ask("sendOobCode", members)
    }

    // MARK: Ways to sign in

    /// Removes a way to sign in.
    ///
    /// - throws: `noSuchProvider`.
    @discardableResult
    public func unlink(fromProvider provider: String) async throws(AuthError) -> User {
        guard providerData.contains(where: { $0.providerID == provider }) else { throw AuthError(.noSuchProvider) }
        try await update(["deleteProvider": .array([.string(provider)])])
        return self
    }

    /// Deletes the account and signs out.
    ///
    /// - throws: `requiresRecentLogin`; `sessionFile` if the session file cannot be removed; the account is then still
    ///   deleted, and the user signed out.
    public func delete() async throws(AuthError) {
        try await change("delete") { [self] () throws(AuthError) in try keeper.deleted(self) }
    }
}

/// A change of a user's profile.
public final class UserProfileChangeRequest: Sendable {
    private let user: User
    private let values = Mutex<(displayName: String?, photoURL: String?)>((nil, nil))

    init(_ user: User) { self.user = user }

    /// Nil leaves it unchanged; an empty text removes it.
    public var displayName: String? {
        get { values.withLock { $0.displayName } }
        set { values.withLock { $0.displayName = newValue } }
    }

    /// Nil leaves it unchanged; an empty text removes it.
    public var photoURL: String? {
        get { values.withLock { $0.photoURL } }
        set { values.withLock { $0.photoURL = newValue } }
    }

    /// Makes the change.
    public func commitChanges() async throws(AuthError) {
        try await user.updateProfile(displayName: displayName, photoURL: photoURL)
    }
}
