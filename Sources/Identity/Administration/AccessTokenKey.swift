/// The key of an administrator's program that an access token was given for: the token ends with it.
package struct AccessTokenKey: Sendable {
    let id: [UInt8]
    let email: [UInt8]
    private let accounts: ServiceAccounts
    /// When an assertion was shown, in seconds since 1970: tokens can be renewed for some time after that.
    let signedInAt: Int64

    /// - parameter email: the service account's, whose key it is.
    init(_ id: [UInt8], of email: [UInt8], in accounts: ServiceAccounts, signedInAt: Int64) {
        self.id = id
        self.email = email
        self.accounts = accounts
        self.signedInAt = signedInAt
    }

    /// For people: the service account and its key.
    package var name: String { "\(String(decoding: email, as: UTF8.self))/\(String(decoding: id, as: UTF8.self))" }

    /// Costs some microseconds.
    package var isRegistered: Bool { accounts.contains(keyID: id, email: email) }
}
