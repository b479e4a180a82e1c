import CHearthOpenSSL
import HearthJSONWebTokens

/// The hash of a password with everything that is needed to make it again.
struct KeptPassword {
    enum Scheme: Hashable {
        case scrypt(ScryptCost)
        /// Firebase's: scrypt makes a key from password, salt and `separator`, with which the project's `signerKey` is
        /// encrypted (AES-256 in counter mode, from zero); that is the hash.
        case firebase(logarithm: Int, blockSize: Int, separator: [UInt8], signerKey: [UInt8])
        case pbkdf2(Digest, rounds: Int)
        case hmac(Digest, key: [UInt8], order: Order)
        /// The digest of password and salt, and `rounds - 1` times the digest of that.
        case plain(Digest, rounds: Int, order: Order)
        /// The hash is the whole text of crypt(5), `$2b$10$…`, which holds the salt.
        case bcrypt

        /// Imports and exports have the hash as hexadecimal digits, as Firebase does.
        var isWrittenInDigits: Bool { if case .plain(.md5, _, _) = self { true } else { false } }
    }

    enum Digest: String {
        case md5, sha1, sha256, sha512

        static let md5ByteCount = 16

        var algorithm: OpaquePointer {
            switch self {
            case .md5: EVP_md5()
            case .sha1: EVP_sha1()
            case .sha256: EVP_sha256()
            case .sha512: EVP_sha512()
            }
        }
    }

    /// The part that comes first.
    enum Order: String {
        case salt = "sp"
        case password = "ps"

        func join(salt: [UInt8], password: [UInt8]) -> [UInt8] {
            switch self {
            case .salt: salt + password
            case .password: password + salt
            }
        }
    }

    var scheme: Scheme
    var salt: [UInt8]
    var hash: [UInt8]

    /// The most memory that scrypt may use: an import could ask for any amount.
    static let memoryByteCountMax = 256 << 20
    static let roundsMax = 10_000_000

    /// The hash of `password` in the same way, as long as the one kept.
    func hash(of password: [UInt8]) throws(CryptographyError) -> [UInt8] {
        switch scheme {
        case .scrypt(let cost): try scrypt(password, salt: salt, cost: cost, byteCount: hash.count)
        case .firebase(let logarithm, let blockSize, let separator, let signerKey):
            try Self.encrypt(
                signerKey,
                key: try scrypt(
                    password, salt: salt + separator,
                    cost: ScryptCost(logarithm: logarithm, blockSize: blockSize, rounds: 1), byteCount: 32))
        case .pbkdf2(let digest, let rounds): try pbkdf2(password, digest, rounds: rounds)
        case .hmac(let digest, let key, let order):
            try Cryptography.hmac(digest.algorithm, order.join(salt: salt, password: password), key: key)
        case .plain(let digest, let rounds, let order):
            try plain(order.join(salt: salt, password: password), digest, rounds: rounds)
        case .bcrypt: try BCrypt.hash(of: password, as: hash)
        }
    }

    private func plain(
        _ bytes: [UInt8], _ digest: Digest, rounds: Int
    ) throws(CryptographyError) -> [UInt8] {
        guard 0...Self.roundsMax ~= rounds else { throw CryptographyError("too many rounds") }
        var hash = try Cryptography.digest(digest.algorithm, bytes)
        for _ in 1..<max(rounds, 1) { hash = try Cryptography.digest(digest.algorithm, hash) }
        return hash
    }

    private func scrypt(
        _ password: [UInt8], salt: [UInt8], cost: ScryptCost, byteCount: Int
    ) throws(CryptographyError) -> [UInt8] {
        guard 1...24 ~= cost.logarithm, 1...64 ~= cost.blockSize, 1...64 ~= cost.rounds, byteCount > 0 else {
            throw CryptographyError("scrypt's parameters are out of range")
        }
        var key = [UInt8](repeating: 0, count: byteCount)
        let isDone = password.withUnsafeBytes { password in
            EVP_PBE_scrypt(
                password.baseAddress?.assumingMemoryBound(to: CChar.self), password.count, salt, salt.count,
                1 << UInt64(cost.logarithm), UInt64(cost.blockSize), UInt64(cost.rounds),
                // OpenSSL also counts some memory beside the block of the parameters.
                UInt64(Self.memoryByteCountMax + Self.memoryByteCountMax / 16), &key, key.count) == 1
        }
        guard isDone else { throw .last("hash a password") }
        return key
    }

    private func pbkdf2(
        _ password: [UInt8], _ digest: Digest, rounds: Int
    ) throws(CryptographyError) -> [UInt8] {
        guard 1...Self.roundsMax ~= rounds, !hash.isEmpty else {
            throw CryptographyError("PBKDF2's parameters are out of range")
        }
        var key = [UInt8](repeating: 0, count: hash.count)
        let isDone = password.withUnsafeBytes { password in
            PKCS5_PBKDF2_HMAC(
                password.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(password.count), salt,
                Int32(salt.count), Int32(rounds), digest.algorithm, Int32(key.count), &key) == 1
        }
        guard isDone else { throw .last("hash a password") }
        return key
    }

    private static func encrypt(_ bytes: [UInt8], key: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard let context = EVP_CIPHER_CTX_new() else { throw .last("hash a password") }
        defer { EVP_CIPHER_CTX_free(context) }
        let counter = [UInt8](repeating: 0, count: 16)
        var out = [UInt8](repeating: 0, count: bytes.count)
        var count: Int32 = 0
        guard EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), nil, key, counter) == 1,
            EVP_EncryptUpdate(context, &out, &count, bytes, Int32(bytes.count)) == 1, count == out.count
        else { throw .last("hash a password") }
        return out
    }
}
