import HearthPlatform

/// The signed-in user.
struct SavedSession: Sendable {
    var account: AccountInfo
    var tokens: Tokens
}

/// Keeps a session on disk, as JSON that only its owner may read. After a crash, the next process finds the old session
/// or the new one.
struct SessionFile: Sendable {
    let path: String
    /// The server of the session: a refresh token must not be sent to another server.
    let server: String

    /// The saved session; nil if the text is invalid.
    func load() throws(AuthError) -> SavedSession? {
        let text: [UInt8]?
        do throws(PrivateFile.Failure) { text = try PrivateFile.read(path) } catch {
            throw AuthError(.sessionFile, error.description)
        }
        guard let text, let saved = try? DatabaseValue(json: text) else { return nil }
        if let owner = saved["server"].string, owner != server {
            throw AuthError(.sessionFile, "\(path) holds a session of \(owner)")
        }
        guard let account = AccountInfo(saved["account"]), let idToken = saved["idToken"].string,
            let refreshToken = saved["refreshToken"].string, let expires = saved["expires"].int,
            let lifetime = saved["lifetime"].int
        else { return nil }
        return SavedSession(
            account: account,
            tokens: Tokens(
                idToken: idToken, refreshToken: refreshToken, expires: Int64(expires), lifetime: Int64(lifetime)))
    }

    /// Saves a session, or removes the saved one.
    func save(_ session: SavedSession?) throws(AuthError) {
        do throws(PrivateFile.Failure) {
            guard let session else { return try PrivateFile.remove(path) }
            let (account, tokens) = (session.account, session.tokens)
            let value: DatabaseValue = [
                "server": .string(server), "account": account.info, "idToken": .string(tokens.idToken),
                "refreshToken": .string(tokens.refreshToken), "expires": .int(tokens.expires),
                "lifetime": .int(tokens.lifetime),
            ]
            // It was received as JSON.
            guard let text = try? value.jsonText() else { return }
            try PrivateFile.replace(path, with: text)
        } catch {
            throw AuthError(.sessionFile, error.description)
        }
    }
}
