extension User {
    /// Adds a way to sign in. An anonymous user becomes a permanent one, with the same ``uid``.
    ///
    /// - throws: `providerAlreadyLinked`; `credentialAlreadyInUse`, `emailAlreadyInUse` if it is another user's.
    @discardableResult
    public func link(with credential: AuthCredential) async throws(AuthError) -> AuthDataResult {
        if providerData.contains(where: { $0.providerID == credential.provider }) {
            throw AuthError(.providerAlreadyLinked)
        }
        // An address and a password are added with the same operation as for signing up.
        let (signIn, members) = credential.question
        let operation = if case .password = credential.proof { "signUp" } else { signIn }
        let answer = try await change(operation, members)
        try answer.refuseConfirmation()
        try await reload()
        return AuthDataResult(user: self, additionalUserInfo: AdditionalUserInfo(answer, credential.provider))
    }

    /// Proves the user's identity again, for operations that need a recent sign-in.
    ///
    /// - throws: `userMismatch` for the credential of another user.
    @discardableResult
    public func reauthenticate(with credential: AuthCredential) async throws(AuthError) -> AuthDataResult {
        let answer = try await renewing { [self] () throws(AuthError) in
            var (operation, members) = credential.question
            if case .assertion = credential.proof { members["autoCreate"] = false }
            let answer: DatabaseValue
            do throws(AuthError) { answer = try await keeper.identity.ask(operation, members) } catch {
                throw error.code == .userNotFound ? AuthError(.userMismatch) : error
            }
            let session = try await keeper.identity.session(answer)
            guard session.account.uid == uid else { throw AuthError(.userMismatch) }
            renew(session)
            return answer
        }
        return AuthDataResult(user: self, additionalUserInfo: AdditionalUserInfo(answer, credential.provider))
    }
}
