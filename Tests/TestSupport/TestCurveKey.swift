import CHearthOpenSSL

/// A key pair on P-256, which signs as other issuers do.
package final class TestCurveKey {
    private let key: OpaquePointer

    package init() {
        let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        precondition(EVP_PKEY_keygen_init(context) == 1 && EVP_PKEY_CTX_set_group_name(context, "P-256") == 1)
        precondition(EVP_PKEY_generate(context, &key) == 1)
        self.key = key!
    }

    deinit { EVP_PKEY_free(key) }

    package var publicPEM: [UInt8] {
        let memory = BIO_new(BIO_s_mem())
        defer { BIO_free(memory) }
        precondition(PEM_write_bio_PUBKEY(memory, key) == 1)
        var pem = [UInt8](repeating: 0, count: BIO_ctrl_pending(memory))
        precondition(BIO_read(memory, &pem, Int32(pem.count)) == pem.count)
        return pem
    }

    /// The two numbers of 32 bytes each (RFC 7518, section 3.4).
    package func sign(_ message: [UInt8]) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: 128)
        var count = signature.count
        precondition(EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1)
        precondition(EVP_DigestSign(context, &signature, &count, message, message.count) == 1)
        // A sequence of two integers, all lengths in one byte.
        var rest = signature[2..<count]
        return (0..<2).flatMap { _ -> [UInt8] in
            let length = Int(rest[rest.startIndex + 1])
            let digits = rest.dropFirst(2).prefix(length).drop { $0 == 0 }
            rest = rest.dropFirst(2 + length)
            return [UInt8](repeating: 0, count: 32 - digits.count) + digits
        }
    }
}
