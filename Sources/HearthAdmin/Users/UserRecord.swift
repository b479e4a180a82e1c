public import HearthClient
package import HearthJSONValues

/// A user as administrators see it.
public struct UserRecord: Identifiable, Hashable, Sendable {
    /// All members in the server's answer (accounts.md 4).
    package let json: JSONObject
    private let account: AccountInfo

    init(_ json: JSONObject) throws(AdminError) {
        guard let account = AccountInfo(DatabaseValue(.object(json))) else {
            throw AdminError(.unavailable, "the server answers with a user without an id")
        }
        (self.json, self.account) = (json, account)
    }

    /// The user's id: `auth.uid` in rules.
    public var uid: String { account.uid }
    /// The same as ``uid``.
    public var id: String { uid }
    /// The address, in lower case.
    public var email: String? { account.email }
    /// Whether the address is verified.
    public var isEmailVerified: Bool { account.isEmailVerified }
    /// The display name.
    public var displayName: String? { account.displayName }
    /// The URL of a picture.
    public var photoURL: String? { account.photoURL }
    /// The telephone number, such as +15555550100.
    public var phoneNumber: String? { account.phoneNumber }
    /// Whether the user cannot sign in.
    public var isDisabled: Bool { json["disabled"]?.bool ?? false }
    /// The ways to sign in.
    public var providerData: [UserInfo] { account.providers }
    /// When the account was created and last used.
    public var metadata: UserMetadata { account.metadata }
    /// The tenant that the user belongs to.
    public var tenantID: String? { account.tenantID }
    /// Claims for rules to read in `auth.token`, in addition to the usual ones.
    public var customClaims: [String: DatabaseValue] {
        customClaimsText.flatMap { try? DatabaseValue(json: Array($0.utf8)).object } ?? [:]
    }
    /// Tokens issued before this time are invalid; in milliseconds since 1970, whole seconds.
    public var tokensValidAfter: Int? {
        let value = json["validSince"]
        guard let seconds = value?.integer ?? value?.text.flatMap({ Int64($0) }) else { return nil }
        let (milliseconds, isTooLarge) = Int(seconds).multipliedReportingOverflow(by: 1000)
        return isTooLarge ? nil : milliseconds
    }

    /// The JSON text of the custom claims; nil if there are none.
    package var customClaimsText: String? { json["customAttributes"]?.text }
}
