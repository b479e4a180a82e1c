/// An account as the server describes it (accounts.md 4).
package struct AccountInfo: Hashable, Sendable {
    /// Stored as received, so that the session file loses no members.
    let info: DatabaseValue

    /// Nil if the value does not describe an account.
    package init?(_ info: DatabaseValue) {
        guard let uid = info["localId"].string, !uid.isEmpty else { return nil }
        self.info = info
        self.uid = uid
    }

    package let uid: String
    package var tenantID: String? { info["tenantId"].string }
    package var email: String? { info["email"].string }
    package var displayName: String? { info["displayName"].string }
    package var photoURL: String? { info["photoUrl"].string }
    package var phoneNumber: String? { info["phoneNumber"].string }
    package var isEmailVerified: Bool { info["emailVerified"].bool ?? false }

    /// Whether there is no way to sign in again.
    package var isAnonymous: Bool {
        info["customAuth"].bool != true && info["passwordHash"].isNull && email == nil && providers.isEmpty
    }

    package var providers: [UserInfo] {
        (info["providerUserInfo"].array ?? []).map { entry in
            UserInfo(
                providerID: entry["providerId"].string ?? "", uid: entry["rawId"].string ?? "",
                email: entry["email"].string, displayName: entry["displayName"].string,
                photoURL: entry["photoUrl"].string, phoneNumber: entry["phoneNumber"].string)
        }
    }

    package var metadata: UserMetadata {
        UserMetadata(
            creationDate: info["createdAt"].string.flatMap { Int($0) },
            lastSignInDate: info["lastLoginAt"].string.flatMap { Int($0) })
    }
}
