/// The key of an administrator's program that an access token was given for: the token ends with it.
package struct AccessTokenKey: Sendable {
    private let id: [UInt8]
    private let email: [UInt8]
    private let accounts: ServiceAccounts

    /// - parameter email: the service account's, whose key it is.
    init(_ id: [UInt8], of email: [UInt8], in accounts: ServiceAccounts) {
        self.id = id
        self.email = email
        self.accounts = accounts
    }

    /// For people: the service account and its key.
    package var name: String { "\(String(decoding: email, as: UTF8.self))/\(String(decoding: id, as: UTF8.self))" }

    /// Costs some microseconds.
    package var isRegistered: Bool { accounts.contains(keyID: id, email: email) }
}
