public import HearthClient
package import HearthJSONValues

/// A user as administrators see it.
public struct UserRecord: Identifiable, Hashable, Sendable {
    /// All that the server says (accounts.md 4).
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
    /// Whether the user has proved that the address is theirs.
    public var isEmailVerified: Bool { account.isEmailVerified }
    /// The name that is shown.
    public var displayName: String? { account.displayName }
    /// The URL of a picture.
    public var photoURL: String? { account.photoURL }
    /// The telephone number, such as +15555550100.
    public var phoneNumber: String? { account.phoneNumber }
    /// Whether the user cannot sign in.
    public var isDisabled: Bool { json["disabled"]?.bool ?? false }
    /// The ways to sign in.
    public var providerData: [UserInfo] { account.providers }
    /// When the account was made and used.
    public var metadata: UserMetadata { account.metadata }
    /// The tenant that the user belongs to.
    public var tenantID: String? { account.tenantID }
    /// What rules see in `auth.token` besides the usual claims.
    public var customClaims: [String: DatabaseValue] {
        customClaimsText.flatMap { try? DatabaseValue(json: Array($0.utf8)).object } ?? [:]
    }
    /// Tokens that were issued before this time are void; in milliseconds since 1970, full seconds.
    public var tokensValidAfter: Int? {
        let value = json["validSince"]
        return (value?.integer ?? value?.text.flatMap { Int64($0) }).map { Int($0) * 1000 }
    }

    /// The JSON text of the custom claims; nil without any.
    package var customClaimsText: String? { json["customAttributes"]?.text }
}
