import HearthBytes

/// A signed set of claims in the compact form of RFC 7515 and RFC 7519, read and not verified: header, claims and
/// signature, each in Base64url, between dots. Nothing that it says is true before a key has verified it.
package struct UnverifiedToken: Sendable {
    /// The longest token that is read. Custom claims have at most 1000 characters; identities and names come on top.
    package static let byteCountMax = 16 << 10

    package let header: JSONObject
    package let claims: JSONObject
    /// Empty if the token is not signed.
    package let signature: [UInt8]
    /// The signed text.
    package let signedText: [UInt8]

    /// Reads a token strictly: three parts, Base64url with nothing to spare, JSON objects that name each member once.
    /// Nil for any other text, and for one that is longer than ``byteCountMax``.
    package init?(parsing text: [UInt8]) {
        guard text.count <= Self.byteCountMax else { return nil }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Base64.url.decode(parts[2]), let header = Self.object(parts[0]),
            let claims = Self.object(parts[1])
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signedText = Array(text[..<parts[1].endIndex])
    }

    private static func object(_ part: ArraySlice<UInt8>) -> JSONObject? {
        guard let text = Base64.url.decode(part),
            case .object(let object)? = try? JSONValue(parsing: text, depthMax: JSONValue.claimsDepthMax)
        else { return nil }
        return object
    }
}
