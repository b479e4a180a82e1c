import HearthPlatform

/// Who is signed in.
struct SavedSession: Sendable {
    var account: AccountInfo
    var tokens: Tokens
}

/// Keeps a session on disk, as JSON that only its owner may read: another process that is started sees the old session
/// or the new one, whenever the machine stops.
struct SessionFile: Sendable {
    let path: String
    /// Whose session it is: one server's refresh token is not to be shown to another.
    let server: String

    /// The session that was kept. An invalid text counts as no session.
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

    /// Keeps a session, or forgets the one that was kept.
    func save(_ session: SavedSession?) throws(AuthError) {
        do throws(PrivateFile.Failure) {
            guard let session else { return try PrivateFile.remove(path) }
            let (account, tokens) = (session.account, session.tokens)
            let value: DatabaseValue = [
                "server": .string(server), "account": account.info, "idToken": .string(tokens.idToken),
                "refreshToken": .string(tokens.refreshToken), "expires": .int(tokens.expires),
                "lifetime": .int(tokens.lifetime),
            ]
            // It came as JSON.
            guard let text = try? value.jsonText() else { return }
            try PrivateFile.replace(path, with: text)
        } catch {
            throw AuthError(.sessionFile, error.description)
        }
    }
}
