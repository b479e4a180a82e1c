import HearthClientSession

/// Requests to the endpoints, and the meaning of their answers (accounts.md 1).
extension AuthCredential {
    /// The operation that signs in with the credential, and its members.
    var question: (operation: String, members: [String: DatabaseValue]) {
        switch proof {
        case .password(let email, let password):
            ("signInWithPassword", ["email": .string(email), "password": .string(password), "returnSecureToken": true])
        case .emailLink(let email, let code):
            ("signInWithEmailLink", ["email": .string(email), "oobCode": .string(code)])
        case .assertion(let parameters):
            (
                "signInWithIdp",
                [
                    // A credential that the program obtained itself comes from no web page.
                    "requestUri": "http://localhost", "postBody": .string(Self.form(parameters)),
                    "returnSecureToken": true,
                ]
            )
        }
    }

    private static func form(_ parameters: [String: String]) -> String {
        parameters.map { "\($0.key)=\(DatabaseURL.encoded(Array($0.value.utf8)))" }.joined(separator: "&")
    }
}

extension ActionCodeSettings {
    /// The members of a request for a mail.
    static func members(_ kind: String, _ settings: ActionCodeSettings?) -> [String: DatabaseValue] {
        var members: [String: DatabaseValue] = ["requestType": .string(kind)]
        members["continueUrl"] = settings?.url.map { .string($0) }
        if settings?.handleCodeInApp == true { members["canHandleCodeInApp"] = true }
        return members
    }
}

extension AdditionalUserInfo {
    init(_ answer: DatabaseValue, _ provider: String?, isNewUser: Bool = false) {
        self.init(
            providerID: answer["providerId"].string ?? provider,
            isNewUser: isNewUser || answer["isNewUser"].bool ?? false,
            profile: answer["rawUserInfo"].string.flatMap { (try? DatabaseValue(json: Array($0.utf8)))?.object })
    }
}

extension DatabaseValue {
    /// An answer without tokens: another user may own the address (accounts.md 8).
    func refuseConfirmation() throws(AuthError) {
        if self["needConfirmation"].bool == true { throw AuthError(.accountExistsWithDifferentCredential) }
    }
}

extension IdentityClient {
    /// The session that an answer with tokens begins.
    func session(_ answer: DatabaseValue) async throws(AuthError) -> SavedSession {
        try answer.refuseConfirmation()
        guard let tokens = Tokens(answer: answer) else {
            throw AuthError(.internalError, "The server's answer has no tokens")
        }
        let users = try await ask("lookup", ["idToken": .string(tokens.idToken)])["users"].array
        guard let account = AccountInfo(users?.first ?? .null) else {
            throw AuthError(.internalError, "The server does not describe the user")
        }
        return SavedSession(account: account, tokens: tokens)
    }
}
