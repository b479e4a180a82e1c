/// Signing up and in. Each of these replaces the user who was signed in before.
extension Auth {
    /// Creates an account and signs in.
    ///
    /// - throws: `emailAlreadyInUse`, `invalidEmail`, `missingEmail`, `missingPassword`, `weakPassword`,
    ///   `operationNotAllowed`, `tooManyRequests`, `networkError`.
    @discardableResult
    public func createUser(withEmail email: String, password: String) async throws(AuthError) -> AuthDataResult {
        try await begin(
            "signUp", ["email": .string(email), "password": .string(password), "returnSecureToken": true],
            provider: EmailAuthProvider.id, isNewUser: true)
    }

    /// Signs in with an address and its password.
    ///
    /// - throws: `wrongPassword`, `userNotFound`, or `invalidCredential` from a server that does not say which;
    ///   `invalidEmail`, `userDisabled`, `tooManyRequests`, `networkError`.
    @discardableResult
    public func signIn(withEmail email: String, password: String) async throws(AuthError) -> AuthDataResult {
        try await signIn(with: EmailAuthProvider.credential(withEmail: email, password: password))
    }

    /// Signs in with an address and the link that was sent there.
    ///
    /// - throws: `invalidActionCode`, `expiredActionCode`, `userDisabled`, `networkError`.
    @discardableResult
    public func signIn(withEmail email: String, link: String) async throws(AuthError) -> AuthDataResult {
        try await signIn(with: EmailAuthProvider.credential(withEmail: email, link: link))
    }

    /// The ways to sign in to the account of an address: `password`, `emailLink`, `google.com`, … Empty if there is no
    /// account, and always in production, where the server does not reveal which accounts exist (accounts.md 8).
    ///
    /// - throws: `invalidEmail`; `networkError`.
    public func fetchSignInMethods(forEmail email: String) async throws(AuthError) -> [String] {
        let answer = try await core.identity.ask(
            "createAuthUri", ["identifier": .string(email), "continueUri": "http://localhost"])
        return answer["signinMethods"].array?.compactMap(\.string) ?? []
    }

    /// Signs in with a credential of any provider; creates the account if it does not exist.
    ///
    /// - throws: `accountExistsWithDifferentCredential`, `invalidCredential`, `missingOrInvalidNonce`,
    ///   `operationNotAllowed` for a provider that is not set up, `userDisabled`, `networkError`.
    @discardableResult
    public func signIn(with credential: AuthCredential) async throws(AuthError) -> AuthDataResult {
        let (operation, members) = credential.question
        return try await begin(operation, members, provider: credential.provider)
    }

    /// Signs in anonymously. The account cannot be recovered once the session is lost. Without effect if an anonymous
    /// user is signed in already.
    ///
    /// - throws: `adminRestrictedOperation` where the operator does not allow it, `tooManyRequests`, `networkError`.
    @discardableResult
    public func signInAnonymously() async throws(AuthError) -> AuthDataResult {
        if let user = currentUser, user.isAnonymous {
            return AuthDataResult(user: user, additionalUserInfo: AdditionalUserInfo(.null, nil))
        }
        return try await begin("signUp", ["returnSecureToken": true], provider: nil, isNewUser: true)
    }

    /// Signs in with a token that a backend has made with an administrator's key.
    ///
    /// - throws: `invalidCustomToken`, `customTokenMismatch`, `userDisabled`, `networkError`.
    @discardableResult
    public func signIn(withCustomToken token: String) async throws(AuthError) -> AuthDataResult {
        try await begin(
            "signInWithCustomToken", ["token": .string(token), "returnSecureToken": true], provider: nil)
    }

    private func begin(
        _ operation: String, _ members: [String: DatabaseValue], provider: String?, isNewUser: Bool = false
    ) async throws(AuthError) -> AuthDataResult {
        let answer = try await core.identity.ask(operation, members)
        let user = try core.signedIn(try await core.identity.session(answer))
        return AuthDataResult(
            user: user, additionalUserInfo: AdditionalUserInfo(answer, provider, isNewUser: isNewUser))
    }

    // MARK: Codes in mails

    /// Sends a mail with a link to reset the password.
    ///
    /// - throws: `userNotFound`, unless the server does not reveal it; `invalidEmail`, `tooManyRequests`,
    ///   `networkError`.
    public func sendPasswordReset(
        withEmail email: String, actionCodeSettings: ActionCodeSettings? = nil
    ) async throws(AuthError) {
        try await sendMail("PASSWORD_RESET", to: email, actionCodeSettings)
    }

    /// Sends a mail with a link that signs in.
    ///
    /// - throws: `invalidEmail`, `operationNotAllowed`, `tooManyRequests`, `networkError`.
    public func sendSignInLink(
        toEmail email: String, actionCodeSettings: ActionCodeSettings
    ) async throws(AuthError) {
        try await sendMail("EMAIL_SIGNIN", to: email, actionCodeSettings)
    }

    private func sendMail(_ kind: String, to email: String, _ settings: ActionCodeSettings?) async throws(AuthError) {
        var members = ActionCodeSettings.members(kind, settings)
        members["email"] = .string(email)
        _ = try await core.identity.ask("sendOobCode", members)
    }

    /// Whether a link is a sign-in link.
    public func isSignIn(withEmailLink link: String) -> Bool { ActionCodeURL(link)?.mode == "signIn" }

    /// Sets a new password. All sessions of the user end.
    ///
    /// - throws: `invalidActionCode`, `expiredActionCode`, `weakPassword`, `networkError`.
    public func confirmPasswordReset(withCode code: String, newPassword: String) async throws(AuthError) {
        _ = try await core.identity.ask(
            "resetPassword", ["oobCode": .string(code), "newPassword": .string(newPassword)])
    }

    /// The address whose password a code would set.
    ///
    /// - throws: `invalidActionCode`, also for a code of another operation; `expiredActionCode`, `networkError`.
    @discardableResult
    public func verifyPasswordResetCode(_ code: String) async throws(AuthError) -> String {
        let info = try await checkActionCode(code)
        guard info.operation == .passwordReset, let email = info.email else { throw AuthError(.invalidActionCode) }
        return email
    }

    /// The effect of a code.
    ///
    /// - throws: `invalidActionCode`, `expiredActionCode`, `networkError`.
    public func checkActionCode(_ code: String) async throws(AuthError) -> ActionCodeInfo {
        let answer = try await core.identity.ask("resetPassword", ["oobCode": .string(code)])
        let operation = ActionCodeOperation(answer["requestType"].string ?? "")
        let (email, newEmail) = (answer["email"].string, answer["newEmail"].string)
        return ActionCodeInfo(
            operation: operation, email: newEmail ?? email, previousEmail: newEmail == nil ? nil : email)
    }

    /// Applies a code. A code for a new password needs ``confirmPasswordReset(withCode:newPassword:)`` instead.
    ///
    /// - throws: `invalidActionCode`, `expiredActionCode`, `emailAlreadyInUse`, `networkError`.
    public func applyActionCode(_ code: String) async throws(AuthError) {
        _ = try await core.identity.ask("update", ["oobCode": .string(code)])
    }
}
