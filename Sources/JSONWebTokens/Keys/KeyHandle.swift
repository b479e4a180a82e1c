import CHearthOpenSSL

/// One key of OpenSSL.
final class KeyHandle: @unchecked Sendable {
    // Safe because: a key is not changed after it was made, and OpenSSL counts its users atomically.
    let key: OpaquePointer

    /// Takes over the key.
    init(_ key: OpaquePointer) { self.key = key }

    deinit { EVP_PKEY_free(key) }

    var isRSA: Bool { EVP_PKEY_is_a(key, "RSA") == 1 }

    var isP256: Bool {
        guard EVP_PKEY_is_a(key, "EC") == 1 else { return false }
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1 else {
            ERR_clear_error()
            return false
        }
        return name.prefix(count).elementsEqual("prime256v1".utf8.map { CChar(bitPattern: $0) })
    }

    var bitCount: Int { Int(EVP_PKEY_get_bits(key)) }

    /// An unsigned number among the key's parameters, big-endian, as short as it can be.
    func number(_ name: String) -> [UInt8]? {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1, let number else {
            ERR_clear_error()
            return nil
        }
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: Int(BN_num_bits(number) + 7) / 8)
        BN_bn2bin(number, &bytes)
        return bytes
    }
}

// MARK: Making

extension KeyHandle {
    /// A new RSA key pair. Takes 0.1 to 0.6 s.
    static func makeRSA(bitCount: Int) throws(CryptographyError) -> KeyHandle {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { throw .last("make a key") }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bitCount)) == 1,
            EVP_PKEY_generate(context, &key) == 1, let key
        else { throw .last("make a key") }
        return KeyHandle(key)
    }

    /// The public key of a modulus and an exponent, big-endian.
    static func rsa(modulus: [UInt8], exponent: [UInt8]) throws(CryptographyError) -> KeyHandle {
        guard modulus.count <= 1024, exponent.count <= 8 else { throw CryptographyError("an RSA key is too large") }
        return try publicKey(der: DER.rsaKey(modulus: modulus, exponent: exponent))
    }

    /// The public key of a point on P-256; each coordinate has 32 bytes. A point off the curve is an error.
    static func p256(x: [UInt8], y: [UInt8]) throws(CryptographyError) -> KeyHandle {
        guard x.count == 32, y.count == 32 else {
            throw CryptographyError("a P-256 key does not have 32 bytes per coordinate")
        }
        return try publicKey(der: DER.p256Key(x: x, y: y))
    }

    private static func publicKey(der: [UInt8]) throws(CryptographyError) -> KeyHandle {
        let key = der.withUnsafeBufferPointer { der in
            var start = der.baseAddress
            return d2i_PUBKEY(nil, &start, der.count)
        }
        guard let key else { throw .last("read a public key") }
        return KeyHandle(key)
    }
}

// MARK: PEM

extension KeyHandle {
    /// The private key of a PEM text, PKCS #8 or older, not encrypted.
    static func privateKey(pem: [UInt8]) throws(CryptographyError) -> KeyHandle {
        let key = try Memory.reading(pem) { memory in
            // An encrypted key is an error; OpenSSL would ask for its password on the terminal.
            PEM_read_bio_PrivateKey(memory, nil, { _, _, _, _ in 0 }, nil)
        }
        guard let key else { throw .last("read a private key") }
        return KeyHandle(key)
    }

    /// The public key of a PEM text that holds one, or of the first certificate in it. The certificate is not verified.
    static func publicKey(pem: [UInt8]) throws(CryptographyError) -> KeyHandle {
        let key = try Memory.reading(pem) { PEM_read_bio_PUBKEY($0, nil, nil, nil) }
        if let key { return KeyHandle(key) }
        ERR_clear_error()
        let certificate = try Memory.reading(pem) { PEM_read_bio_X509($0, nil, nil, nil) }
        guard let certificate else { throw .last("read a public key") }
        defer { X509_free(certificate) }
        guard let key = X509_get_pubkey(certificate) else { throw .last("read a certificate's key") }
        return KeyHandle(key)
    }

    /// PKCS #8 (RFC 5958), not encrypted.
    func privatePEM() throws(CryptographyError) -> [UInt8] {
        try Memory.writing { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) == 1 }
    }

    /// SubjectPublicKeyInfo (RFC 5280, section 4.1.2.7).
    func publicPEM() throws(CryptographyError) -> [UInt8] {
        try Memory.writing { PEM_write_bio_PUBKEY($0, key) == 1 }
    }
}

/// OpenSSL's files in memory.
enum Memory {
    static func reading<Result>(_ bytes: [UInt8], _ body: (OpaquePointer) -> Result) throws(CryptographyError) -> Result
    {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(CryptographyError) in
            guard let memory = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
                throw .last("read a text")
            }
            defer { BIO_free(memory) }
            return body(memory)
        }
    }

    static func writing(_ body: (OpaquePointer) -> Bool) throws(CryptographyError) -> [UInt8] {
        guard let memory = BIO_new(BIO_s_mem()) else { throw .last("write a key") }
        defer { BIO_free(memory) }
        guard body(memory) else { throw .last("write a key") }
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(memory))
        guard BIO_read(memory, &bytes, Int32(bytes.count)) == bytes.count else { throw .last("write a key") }
        return bytes
    }
}
