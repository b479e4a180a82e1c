package import HearthJSONValues

/// An OpenID provider that an administrator has set up while the server runs (accounts.md 13: `oauthIdpConfigs`).
package struct OpenIDConfiguration: Hashable, Sendable {
    /// `oidc.` and a name of 1 to 64 letters, digits and `-`, `_`, `.`.
    package let id: String
    package var clientID: String
    /// The issuer as its tokens spell it: an address that publishes a configuration.
    package var issuer: String
    package var displayName: String?
    /// Users may sign in.
    package var isEnabled = false
    /// Kept for programs that ask: this server exchanges no codes.
    package var clientSecret: String?
    package var wantsIDToken = true
    package var wantsCode = false
    /// From the trust file, so not to be changed here.
    package var isFixed = false

    package static let idPrefix = "oidc."

    package init(id: String, clientID: String, issuer: String) {
        self.id = id
        self.clientID = clientID
        self.issuer = issuer
    }

    /// The members of the API, but for `name`. Absent ones are left out, as are the answers that are not wanted.
    package var members: JSONObject {
        let types = JSONObject(["idToken": wantsIDToken ? .bool(true) : nil, "code": wantsCode ? .bool(true) : nil])
        return JSONObject([
            "clientId": .text(clientID), "issuer": .text(issuer), "displayName": displayName.map { .text($0) },
            "enabled": .bool(isEnabled), "clientSecret": clientSecret.map { .text($0) },
            "responseType": .object(types),
        ])
    }

    /// Reads the object of ``members``.
    init?(id: String, members: JSONObject) {
        guard Self.isValidID(id), let clientID = members["clientId"]?.text, let issuer = members["issuer"]?.text else {
            return nil
        }
        self.init(id: id, clientID: clientID, issuer: issuer)
        displayName = members["displayName"]?.text
        isEnabled = members["enabled"]?.bool ?? false
        clientSecret = members["clientSecret"]?.text
        if let types = members["responseType"]?.object {
            wantsIDToken = types["idToken"]?.bool ?? false
            wantsCode = types["code"]?.bool ?? false
        }
    }

    package static func isValidID(_ id: String) -> Bool {
        guard id.hasPrefix(idPrefix) else { return false }
        let name = id.dropFirst(idPrefix.utf8.count)
        return Realm.isValidName(String(name)) && !name.contains(":")
    }

    /// Whether a provider of the old one may go on: the same keys, for the same client.
    func isSameProvider(as other: OpenIDConfiguration) -> Bool { issuer == other.issuer && clientID == other.clientID }
}
