import HearthBytes
package import HearthJSONValues

/// A signed set of claims, in the compact form of RFC 7515 and RFC 7519: header, claims and signature, each in
/// Base64url, between dots.
///
/// Reading checks the form alone. Nothing that it says is true before a key has verified it.
package struct JSONWebToken: Sendable {
    /// The longest token that is read.
    package static let byteCountMax = UnverifiedToken.byteCountMax

    package enum Algorithm: Hashable, Sendable {
        /// Not signed at all; the third part is empty.
        case none
        case signed(SignatureAlgorithm)
        /// HS256: authenticated with a secret that both sides know (RFC 7518, section 3.2).
        case secret
        /// One that is not used here.
        case other
    }

    package let algorithm: Algorithm
    package let keyID: [UInt8]?
    /// The header's `typ`.
    package let type: [UInt8]?
    /// The milliseconds after the second of `iat`, 0 to 999: a header parameter of Hearth's own, `iat_ms`, which others
    /// ignore (RFC 7515, section 4). 0 if it is not there.
    package let milliseconds: Int64
    package var claims: JSONObject { text.claims }
    private static let millisecondsName = "iat_ms"
    private static let secretAlgorithm = "HS256"
    private let text: UnverifiedToken

    /// Reads a token strictly: three parts, Base64url with nothing to spare, JSON objects that name each member once,
    /// no critical extensions (RFC 7515, section 4.1.11: none is known).
    package init(parsing text: [UInt8]) throws(TokenError) {
        guard text.count <= Self.byteCountMax else { throw .tooLong(limit: Self.byteCountMax) }
        guard let token = UnverifiedToken(parsing: text), let algorithm = token.header["alg"]?.utf8,
            token.header["crit"] == nil
        else { throw .malformed }
        if algorithm.elementsEqual("none".utf8) {
            guard token.signature.isEmpty else { throw .malformed }
            self.algorithm = .none
        } else {
            self.algorithm =
                switch String(decoding: algorithm, as: UTF8.self) {
                case Self.secretAlgorithm: .secret
                case let name: SignatureAlgorithm(rawValue: name).map { .signed($0) } ?? .other
                }
        }
        keyID = try Self.string(token.header["kid"])
        type = try Self.string(token.header["typ"])
        milliseconds = token.header[Self.millisecondsName]?.integer.map { min(max($0, 0), 999) } ?? 0
        self.text = token
    }

    private static func string(_ value: JSONValue?) throws(TokenError) -> [UInt8]? {
        guard let value else { return nil }
        guard let string = value.utf8 else { throw .malformed }
        return string
    }

    /// Checks the signature with the keys that `find` has for the token's key name: one of them must have made it.
    /// About 20 µs for each RSA key, 60 µs for P-256.
    package func verify(_ find: (_ keyID: [UInt8]?) -> [VerificationKey]) throws(TokenError) {
        switch algorithm {
        case .none: throw .unsigned
        case .secret, .other: throw .unsupportedAlgorithm
        case .signed(let algorithm):
            let keys = find(keyID)
            guard !keys.isEmpty else { throw .unknownKey }
            let usable = keys.filter { $0.algorithm == algorithm }
            guard !usable.isEmpty else { throw .unsupportedAlgorithm }
            guard usable.contains(where: { $0.verifies(text.signature, of: text.signedText) }) else {
                throw .wrongSignature
            }
        }
    }

    /// Checks that one of `secrets` has authenticated the token. Public keys are no secrets: those are for
    /// ``verify(_:)``.
    package func verify(secrets: [[UInt8]]) throws(TokenError) {
        switch algorithm {
        case .none: throw .unsigned
        case .signed, .other: throw .unsupportedAlgorithm
        case .secret:
            guard
                secrets.contains(where: {
                    Cryptography.areEqual(Cryptography.hmacSHA256(text.signedText, key: $0), text.signature)
                })
            else { throw .wrongSignature }
        }
    }

    // MARK: Writing

    /// A token that a shared secret authenticates.
    package static func signed(_ claims: JSONObject, secret: [UInt8]) -> [UInt8] {
        var text = signedText(JSONObject(["typ": .text("JWT"), "alg": .text(secretAlgorithm)]), claims)
        let signature = Cryptography.hmacSHA256(text, key: secret)
        text.append(UInt8(ascii: "."))
        Base64.url.append(signature, to: &text)
        return text
    }

    /// A token that `key` signs.
    package static func signed(
        _ claims: JSONObject, with key: SigningKey, type: String = "JWT", milliseconds: Int64 = 0
    ) throws(CryptographyError) -> [UInt8] {
        let header = header(["alg": .text("RS256"), "kid": .text(key.id), "typ": .text(type)], milliseconds)
        var text = signedText(header, claims)
        let signature = try key.sign(text)
        text.append(UInt8(ascii: "."))
        Base64.url.append(signature, to: &text)
        return text
    }

    /// A token that proves nothing (RFC 7519, section 6): it ends with a dot.
    package static func unsigned(_ claims: JSONObject, milliseconds: Int64 = 0) -> [UInt8] {
        signedText(header(["alg": .text("none"), "typ": .text("JWT")], milliseconds), claims) + [UInt8(ascii: ".")]
    }

    private static func header(_ members: KeyValuePairs<String, JSONValue?>, _ milliseconds: Int64) -> JSONObject {
        var header = JSONObject(members)
        if milliseconds > 0 { header[millisecondsName] = .integer(milliseconds) }
        return header
    }

    private static func signedText(_ header: JSONObject, _ claims: JSONObject) -> [UInt8] {
        var text = Base64.url.encode(header.bytes)
        text.append(UInt8(ascii: "."))
        Base64.url.append(claims.bytes, to: &text)
        return text
    }
}

extension JSONWebToken: Secret {}
