/// Why a token is not believed. Texts name claims, never their values.
package enum TokenError: Error, Hashable, Sendable {
    case tooLong(limit: Int)
    /// Not three parts of Base64, or their JSON is broken, or says something twice.
    case malformed
    /// No signature where one is needed.
    case unsigned
    /// An algorithm that is not used here, or not with this key.
    case unsupportedAlgorithm
    /// No trusted issuer has a key of this name, or the token names none.
    case unknownKey
    case wrongSignature
    case expired
    case notYetValid
    case wrongIssuer
    case wrongAudience
    case wrongNonce
    /// It has a name, and one of that name was shown before.
    case alreadyUsed
    /// The keys of its issuer are unavailable at the moment: the token may be valid.
    case keysUnavailable
    /// A claim is missing or invalid.
    case invalidClaim(StaticName)

    /// The name of a claim, from the program's text.
    package struct StaticName: Hashable, Sendable, ExpressibleByStringLiteral {
        package let text: String

        package init(stringLiteral text: String) { self.text = text }
    }
}

extension TokenError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLong(let limit): "the token is longer than \(limit) bytes"
        case .malformed: "the token is malformed"
        case .unsigned: "the token is not signed"
        case .unsupportedAlgorithm: "the token's algorithm is not supported"
        case .unknownKey: "the token is signed with an unknown key"
        case .wrongSignature: "the token's signature is wrong"
        case .expired: "the token is expired"
        case .notYetValid: "the token is not valid yet"
        case .wrongIssuer: "the token is from another issuer"
        case .wrongAudience: "the token is for another audience"
        case .wrongNonce: "the token is for another sign-in"
        case .alreadyUsed: "the token was used before"
        case .keysUnavailable: "the keys of the token's issuer cannot be fetched at the moment"
        case .invalidClaim(let name): "the token's claim \"\(name.text)\" is missing or invalid"
        }
    }
}
