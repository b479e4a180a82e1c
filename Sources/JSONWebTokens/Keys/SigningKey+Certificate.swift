import CHearthOpenSSL

extension SigningKey {
    /// A certificate by which the key vouches for itself (RFC 5280): a wrapping for the public key that readers of
    /// tokens expect (accounts.md 6). The PEM text; valid in the given seconds since 1970.
    package func certificate(validity: Range<Int64>) throws(CryptographyError) -> [UInt8] {
        let key = verificationKey.handle
        guard let certificate = X509_new() else { throw .last("make a certificate") }
        defer { X509_free(certificate) }
        var serial = Cryptography.randomBytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // Positive, as section 4.1.2.2 wants it.
        serial = serial >> 1 | 1
        guard X509_set_version(certificate, 2) == 1,
            ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial) == 1,
            Self.setTime(X509_getm_notBefore(certificate), validity.lowerBound),
            Self.setTime(X509_getm_notAfter(certificate), validity.upperBound),
            let name = X509_get_subject_name(certificate),
            X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, "hearth", -1, -1, 0) == 1,
            X509_set_issuer_name(certificate, name) == 1,
            X509_set_pubkey(certificate, key.key) == 1,
            X509_sign(certificate, key.key, EVP_sha256()) > 0
        else { throw .last("make a certificate") }
        return try Memory.writing { PEM_write_bio_X509($0, certificate) == 1 }
    }

    private static func setTime(_ field: UnsafeMutablePointer<ASN1_TIME>?, _ seconds: Int64) -> Bool {
        ASN1_TIME_set(field, Int(seconds)) != nil
    }
}
