package import HearthClientTransport
package import HearthClientSession

/// A program's credential: a token that it was given, or a key, for which it gets tokens.
package enum Credential: Sendable {
    /// The ID token of a user, or the access token of an administrator.
    case token([UInt8])
    case key(ServiceAccountKey)

    /// A token to show now, and for how many seconds it is good; nil if only its maker knows.
    ///
    /// - parameter loop: a running loop, to ask the server of a key on.
    package func token(
        on loop: any ClientLoop, options: ConnectionOptions = ConnectionOptions()
    ) async throws(ConnectionError) -> (text: [UInt8], seconds: Int64?) {
        switch self {
        case .token(let text): return (text, nil)
        case .key(let key):
            let token = try await key.accessToken(on: loop, options: options)
            return (token.text, token.seconds)
        }
    }
}

extension HTTPCall {
    /// Adds who asks, for a request for a value (rest.md 7): a token may be a user's, which has its place in the
    /// address.
    package mutating func authenticate(
        _ credential: Credential, on loop: any ClientLoop, options: ConnectionOptions = ConnectionOptions()
    ) async throws(ConnectionError) {
        let token = try await credential.token(on: loop, options: options).text
        switch credential {
        case .token: address.append(parameter: "auth", value: token)
        case .key: bearer = token
        }
    }
}
