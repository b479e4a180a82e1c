import CHearthOpenSSL

/// The small tools of OpenSSL. Failures leave nothing in the thread's error queue, which TLS reads.
package enum Cryptography {
    /// Unguessable bytes.
    package static func randomBytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        // Fails only without any source of randomness, and then nothing may go on.
        precondition(RAND_bytes(&bytes, Int32(count)) == 1, "no randomness")
        return bytes
    }

    /// A random name of `count` letters and digits, each equally likely.
    package static func randomName(_ count: Int) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var name: [UInt8] = []
        while name.count < count {
            // Values from 248 on would make the first letters likelier.
            for byte in randomBytes(count) where byte < 248 && name.count < count {
                name.append(alphabet[Int(byte) % alphabet.count])
            }
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// Whether two texts are equal, in a time that depends on their lengths alone.
    package static func areEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
    }

    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        always { () throws(CryptographyError) in try digest(EVP_sha256(), bytes) }
    }

    package static func hmacSHA256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        always { () throws(CryptographyError) in try hmac(EVP_sha256(), bytes, key: key) }
    }

    /// Fails for algorithms that this machine's OpenSSL is told not to have.
    package static func digest(_ algorithm: OpaquePointer, _ bytes: [UInt8]) throws(CryptographyError) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard EVP_Digest(bytes, bytes.count, &out, &count, algorithm, nil) == 1 else { throw .last("make a digest") }
        return Array(out.prefix(Int(count)))
    }

    /// Fails as ``digest(_:_:)``.
    package static func hmac(
        _ algorithm: OpaquePointer, _ bytes: [UInt8], key: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard HMAC(algorithm, key, Int32(key.count), bytes, bytes.count, &out, &count) != nil else {
            throw .last("make a digest")
        }
        return Array(out.prefix(Int(count)))
    }

    /// SHA-256 is everywhere: it fails only when there is no memory left.
    private static func always(_ body: () throws(CryptographyError) -> [UInt8]) -> [UInt8] {
        do throws(CryptographyError) { return try body() } catch { preconditionFailure("\(error)") }
    }
}
