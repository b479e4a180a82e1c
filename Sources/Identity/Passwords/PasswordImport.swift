import HearthBytes
package import HearthJSONValues

/// The hash function of another system's passwords, as described by an import (accounts.md 14), and the stored form of
/// each hash.
package struct PasswordImport: Sendable {
    package enum Failure: Error, Hashable, Sendable {
        case missingAlgorithm
        case unsupportedAlgorithm
        /// A parameter of the algorithm is missing or out of range.
        case invalidParameter(String)
    }

    private let scheme: KeptPassword.Scheme
    /// The product of scrypt's parameters: about 3 s.
    private static let scryptWorkMax = 1 << 23
    /// Longer hashes of the functions that make hashes of any length take longer.
    static let hashByteCountMax = 128

    /// - parameter request: the members of the import other than its users: `hashAlgorithm` and its parameters.
    package init(_ request: JSONObject) throws(Failure) {
        let fields = Fields(request: request)
        guard let algorithm = request["hashAlgorithm"]?.text else { throw .missingAlgorithm }
        switch algorithm {
        case "HMAC_MD5", "HMAC_SHA1", "HMAC_SHA256", "HMAC_SHA512":
            scheme = .hmac(
                try Self.digest(algorithm.dropFirst(5)), key: try fields.bytes("signerKey"),
                order: try fields.order(default: .password))
        case "MD5", "SHA1", "SHA256", "SHA512":
            scheme = .plain(
                try Self.digest(algorithm[...]), rounds: try fields.number("rounds", 0...8192),
                order: try fields.order(default: .salt))
        case "PBKDF_SHA1", "PBKDF2_SHA256":
            let digest = algorithm == "PBKDF_SHA1" ? KeptPassword.Digest.sha1 : .sha256
            scheme = .pbkdf2(digest, rounds: try fields.number("rounds", 1...120_000))
        case "SCRYPT":
            scheme = .firebase(
                logarithm: try fields.number("memoryCost", 1...14), blockSize: try fields.number("rounds", 1...8),
                separator: try fields.bytes("saltSeparator", default: []), signerKey: try fields.bytes("signerKey"))
        case "STANDARD_SCRYPT":
            let cost = try fields.number("cpuMemCost", 2...1 << 20)
            guard cost & (cost - 1) == 0 else { throw .invalidParameter("cpuMemCost") }
            let blockSize = try fields.number("blockSize", 1...64)
            let rounds = try fields.number("parallelization", 1...64)
            // Every attempt to sign in computes it.
            guard 128 * cost * blockSize <= KeptPassword.memoryByteCountMax,
                // RFC 7914, section 2.
                cost.trailingZeroBitCount < 16 * blockSize
            else { throw .invalidParameter("cpuMemCost") }
            guard cost * blockSize * rounds <= Self.scryptWorkMax else { throw .invalidParameter("parallelization") }
            scheme = .scrypt(
                ScryptCost(logarithm: cost.trailingZeroBitCount, blockSize: blockSize, rounds: rounds))
        case "BCRYPT": scheme = .bcrypt
        default: throw .unsupportedAlgorithm
        }
    }

    /// The text to keep for one user; nil if the hash is invalid.
    ///
    /// - parameter hash: `passwordHash` and `salt` of the user, Base64 of any kind.
    package func kept(hash: [UInt8], salt: [UInt8]) -> String? {
        guard var hash = Base64.decodeAny(hash), !hash.isEmpty, let salt = Base64.decodeAny(salt) else { return nil }
        if scheme == .bcrypt {
            return BCrypt.isHash(hash) ? KeptPassword(scheme: scheme, salt: [], hash: hash).text : nil
        }
        if scheme.isWrittenInDigits, hash.count == 2 * KeptPassword.Digest.md5ByteCount {
            guard let bytes = Hexadecimal.decode(hash) else { return nil }
            hash = bytes
        }
        switch scheme {
        case .pbkdf2, .scrypt: if hash.count > Self.hashByteCountMax { return nil }
        case .firebase, .hmac, .plain, .bcrypt: break
        }
        return KeptPassword(scheme: scheme, salt: salt, hash: hash).text
    }

    private static func digest(_ name: Substring) throws(Failure) -> KeptPassword.Digest {
        guard let digest = KeptPassword.Digest(rawValue: name.lowercased()) else { throw .unsupportedAlgorithm }
        return digest
    }

    private struct Fields {
        let request: JSONObject

        /// SDKs send numbers, texts of numbers are allowed too (accounts.md 14).
        func number(_ name: String, _ range: ClosedRange<Int64>) throws(Failure) -> Int {
            let value = request[name]
            guard let number = value?.integer ?? value?.text.flatMap({ Int64($0) }), range.contains(number) else {
                throw .invalidParameter(name)
            }
            return Int(number)
        }

        func bytes(_ name: String, default missing: [UInt8]? = nil) throws(Failure) -> [UInt8] {
            guard let text = request[name]?.utf8 else {
                if let missing { return missing }
                throw .invalidParameter(name)
            }
            guard let bytes = Base64.decodeAny(text), !bytes.isEmpty || missing != nil else {
                throw .invalidParameter(name)
            }
            return bytes
        }

        /// By name or by number. Firebase hashes password and salt in an order of its own for each kind of function
        /// where none is named.
        func order(default missing: KeptPassword.Order) throws(Failure) -> KeptPassword.Order {
            let value = request["passwordHashOrder"] ?? .null
            switch value.text ?? value.integer.map({ String($0) }) {
            case "UNSPECIFIED_ORDER", "0": return missing
            case "SALT_AND_PASSWORD", "1": return .salt
            case "PASSWORD_AND_SALT", "2": return .password
            case nil where value == .null: return missing
            default: throw .invalidParameter("passwordHashOrder")
            }
        }
    }
}
