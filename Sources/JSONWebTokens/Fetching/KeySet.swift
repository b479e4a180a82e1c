import HearthJSONValues

/// The public keys of an issuer, by name.
package struct KeySet: Sendable {
    private let keys: [(id: [UInt8]?, key: VerificationKey)]

    /// Further entries are not looked at.
    package static let keysMax = 64
    /// The longest text that is read.
    package static let byteCountMax = 1 << 20

    /// From a text in one of three forms: a JWK set (RFC 7517, section 5), an object of PEM certificates or public keys
    /// by name (accounts.md 6), or one such PEM. Keys that cannot be used here are left out; nil if none can be.
    package init?(_ text: [UInt8]) {
        guard text.count <= Self.byteCountMax else { return nil }
        keys = Self.read(text)
        if keys.isEmpty { return nil }
    }

    private static func read(_ text: [UInt8]) -> [(id: [UInt8]?, key: VerificationKey)] {
        guard text.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else {
            return (try? VerificationKey(pem: text)).map { [(nil, $0)] } ?? []
        }
        guard let object = (try? JSONValue(parsing: text))?.object else { return [] }
        if let set = object["keys"]?.array {
            return set.prefix(keysMax).compactMap { entry in
                guard let jwk = entry.object, let key = try? VerificationKey(jwk: jwk) else { return nil }
                return (jwk["kid"]?.utf8, key)
            }
        }
        return object.members.prefix(keysMax).compactMap { member in
            guard let pem = member.value.utf8, let key = try? VerificationKey(pem: pem) else { return nil }
            return (member.name, key)
        }
    }

    /// The keys that may have signed a token: those of its key name and those without one; all if it names none.
    package func verificationKeys(_ id: [UInt8]?) -> [VerificationKey] {
        guard let id else { return keys.map(\.key) }
        return keys.filter { $0.id == nil || $0.id == id }.map(\.key)
    }
}
