import HearthBytes
import HearthJSONWebTokens

/// The secret by which a signed-in client gets its next ID token (accounts.md 6): random letters, which say nothing.
/// The server keeps only their digest.
package struct RefreshToken: Sendable {
    /// 43 characters of Base64url: 256 random bits.
    package let text: [UInt8]

    package init() { text = Base64.url.encode(Cryptography.randomBytes(32)) }

    package var digest: [UInt8] { Self.digest(of: text) }

    /// The stored digest of a token, by which it is found: 32 bytes. A plain digest is enough for an unguessable
    /// secret.
    package static func digest(of text: [UInt8]) -> [UInt8] { Cryptography.sha256(text) }
}

extension RefreshToken: Secret {}
