/// Accounts of different realms know nothing of each other: a project, or a tenant of one.
package struct Realm: Hashable, Sendable {
    package let project: String
    package let tenant: String?

    package init(project: String, tenant: String? = nil) {
        self.project = project
        self.tenant = tenant
    }

    /// Whether a text may name a project or a tenant: 1 to 64 letters, digits and `-`, `_`, `.`, `:`.
    package static func isValidName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-_.:".utf8.contains(byte)
                }
            }
    }

    /// Unique, since names hold no slash.
    var key: String { tenant.map { "\(project)/\($0)" } ?? project }

    init(key: String) {
        let names = key.split(separator: "/", maxSplits: 1)
        self.init(project: names.first.map(String.init) ?? "", tenant: names.count > 1 ? String(names[1]) : nil)
    }
}

/// One account. Times are milliseconds since 1970 unless they say otherwise.
package struct User: Hashable, Sendable {
    /// 1 to 128 bytes.
    package var id: String
    /// In lower case, and unique in the realm.
    package var email: String?
    package var emailVerified = false
    /// In the form of ``PasswordHash``, which names its algorithm and parameters.
    package var password: String?
    package var passwordUpdatedAt: Int64?
    package var displayName: String?
    package var photoURL: String?
    /// In E.164 form, and unique in the realm.
    package var phone: String?
    package var isDisabled = false
    /// May sign in by a link sent to the address.
    package var hasEmailLink = false
    /// Has signed in with a custom token.
    package var hasCustomAuth = false
    /// Custom claims: the text of a JSON object.
    package var claims: String?
    /// Tokens issued before are void.
    package var validSince: Int64
    /// They became void by a change that the user made, and the client that asked for it got new ones.
    package var hasRenewedTokens = false
    package var createdAt: Int64
    package var lastLoginAt: Int64?
    package var lastRefreshAt: Int64?
    /// The address before the first change of it.
    package var initialEmail: String?
    /// Federated accounts, in the order of linking. The provider `password` is not among them: see ``providers``.
    package var links: [ProviderLink] = []

    package init(id: String, createdAt: Int64) {
        self.id = id
        self.createdAt = createdAt
        // Test tools make tokens that tell whole seconds.
        validSince = createdAt / 1000 * 1000
    }

    /// Makes all tokens void that were issued until now.
    mutating func voidTokens(now: Int64) {
        validSince = max(validSince, now) + 1
        hasRenewedTokens = false
    }

    /// ``validSince`` for a time that a request names, in seconds since 1970: any number, but none of the future.
    package static func validSince(seconds: Int64, now: Int64) -> Int64 { max(0, min(seconds, now / 1000)) * 1000 }

    /// There would be no way to sign in again as this user.
    package var isAnonymous: Bool {
        email == nil && password == nil && phone == nil && links.isEmpty && !hasCustomAuth
    }

    /// All ways to sign in, as clients see them (accounts.md 4): with an entry for the address, if a password or a
    /// link goes with it, and one for the telephone number.
    package var providers: [ProviderLink] {
        var all = links
        if let email, password != nil || hasEmailLink {
            var entry = ProviderLink(provider: ProviderLink.password, rawID: email)
            entry.email = email
            entry.displayName = displayName
            entry.photoURL = photoURL
            all.append(entry)
        }
        if let phone {
            var entry = ProviderLink(provider: ProviderLink.phone, rawID: phone)
            entry.phone = phone
            all.append(entry)
        }
        return all
    }
}

/// An account of another provider that belongs to a user.
package struct ProviderLink: Hashable, Sendable {
    package static let password = "password"
    package static let phone = "phone"

    package var provider: String
    /// The user's ID at the provider; with `provider` unique in the realm.
    package var rawID: String
    package var email: String?
    package var displayName: String?
    package var photoURL: String?
    package var phone: String?

    package init(provider: String, rawID: String) {
        self.provider = provider
        self.rawID = rawID
    }

    /// How the provider names the user for the rest of the world (accounts.md 4).
    package var federatedID: String { provider == "google.com" ? "https://accounts.google.com/\(rawID)" : rawID }
}
