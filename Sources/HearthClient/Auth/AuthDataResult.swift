/// The result of a sign-in.
public struct AuthDataResult: Sendable {
    /// The user, who is now the signed-in one.
    public let user: User
    /// Further data from the answer.
    public let additionalUserInfo: AdditionalUserInfo?
}
