import HearthBytes
package import HearthJSONValues

/// The hash of a password for an import elsewhere (accounts.md 14): the other direction of ``PasswordImport``.
package struct PasswordExport: Sendable {
    /// Base64, as is `salt`. For `MD5` that of the hash's digits, and for `BCRYPT` that of the whole text, which holds
    /// the salt.
    package let hash: [UInt8]
    package let salt: [UInt8]
    /// How it was made, as members of an import: `hashAlgorithm` and its parameters. Those of `SCRYPT` and `HMAC_…`
    /// hold the key.
    package let hashConfig: JSONObject

    /// - parameter kept: the text that is kept of a password; nil if it cannot be read.
    package init?(_ kept: String) {
        guard let kept = KeptPassword(kept) else { return nil }
        let isInDigits = kept.scheme.isWrittenInDigits && kept.hash.count == KeptPassword.Digest.md5ByteCount
        hash = Base64.standard.encode(isInDigits ? Hexadecimal.encode(kept.hash) : kept.hash)
        salt = Base64.standard.encode(kept.salt)
        hashConfig = kept.scheme.hashConfig(hashByteCount: kept.hash.count)
    }

    /// How a server hashes new passwords.
    package static func hashConfig(of hasher: PasswordHasher) -> JSONObject {
        KeptPassword.Scheme.scrypt(hasher.cost).hashConfig(hashByteCount: PasswordHasher.hashByteCount)
    }
}

extension KeptPassword.Scheme {
    /// The members of an import that describe it.
    fileprivate func hashConfig(hashByteCount: Int) -> JSONObject {
        func number(_ value: Int) -> JSONValue { .integer(Int64(value)) }
        func base64(_ bytes: [UInt8]) -> JSONValue { .string(Base64.standard.encode(bytes)) }
        func name(_ digest: KeptPassword.Digest) -> String { digest.rawValue.uppercased() }
        return switch self {
        case .scrypt(let cost):
            JSONObject([
                "hashAlgorithm": .text("STANDARD_SCRYPT"), "cpuMemCost": number(1 << cost.logarithm),
                "blockSize": number(cost.blockSize), "parallelization": number(cost.rounds),
                "dkLen": number(hashByteCount),
            ])
        case .firebase(let logarithm, let blockSize, let separator, let signerKey):
            JSONObject([
                "hashAlgorithm": .text("SCRYPT"), "signerKey": base64(signerKey), "saltSeparator": base64(separator),
                "rounds": number(blockSize), "memoryCost": number(logarithm),
            ])
        case .pbkdf2(let digest, let rounds):
            JSONObject([
                "hashAlgorithm": .text(digest == .sha1 ? "PBKDF_SHA1" : "PBKDF2_\(name(digest))"),
                "rounds": number(rounds),
            ])
        case .hmac(let digest, let key, let order):
            JSONObject([
                "hashAlgorithm": .text("HMAC_\(name(digest))"), "signerKey": base64(key),
                "passwordHashOrder": .text(order.importName),
            ])
        case .plain(let digest, let rounds, let order):
            JSONObject([
                "hashAlgorithm": .text(name(digest)), "rounds": number(rounds),
                "passwordHashOrder": .text(order.importName),
            ])
        case .bcrypt: JSONObject(["hashAlgorithm": .text("BCRYPT")])
        }
    }
}

extension KeptPassword.Order {
    fileprivate var importName: String {
        switch self {
        case .salt: "SALT_AND_PASSWORD"
        case .password: "PASSWORD_AND_SALT"
        }
    }
}
