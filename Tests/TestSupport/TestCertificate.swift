import CHearthOpenSSL

/// A self-signed certificate with its key, made for one test, in files that go with it.
package final class TestCertificate: Sendable {
    private let folder = TemporaryFolder()
    package var certificateFile: String { folder.path + "/certificate.pem" }
    package var keyFile: String { folder.path + "/key.pem" }

    /// - parameter names: as in `DNS:localhost,IP:127.0.0.1`.
    package init(names: String = "DNS:localhost,IP:127.0.0.1") { write(names: names) }

    /// Makes another certificate and key in the same files.
    package func replace() { write(names: "DNS:localhost") }

    private func write(names: String) {
        let generator = EVP_PKEY_CTX_new_from_name(nil, "ED25519", nil)
        defer { EVP_PKEY_CTX_free(generator) }
        var key: OpaquePointer?
        precondition(EVP_PKEY_keygen_init(generator) == 1 && EVP_PKEY_generate(generator, &key) == 1)
        defer { EVP_PKEY_free(key) }

        let certificate = X509_new()
        defer { X509_free(certificate) }
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1...Int(Int32.max)))
        X509_gmtime_adj(X509_getm_notBefore(certificate), -3600)
        X509_gmtime_adj(X509_getm_notAfter(certificate), 3600)
        X509_set_pubkey(certificate, key)
        let name = X509_get_subject_name(certificate)
        // Each certificate has a name of its own, or OpenSSL would take one for another's issuer.
        X509_NAME_add_entry_by_txt(name, "CN", 0x1001, "Test \(Int.random(in: 0...Int.max))", -1, -1, 0)
        X509_set_issuer_name(certificate, name)
        let alternatives = X509V3_EXT_conf_nid(nil, nil, NID_subject_alt_name, names)
        precondition(X509_add_ext(certificate, alternatives, -1) == 1)
        X509_EXTENSION_free(alternatives)
        precondition(X509_sign(certificate, key, nil) > 0)

        let certificateOutput = BIO_new_file(certificateFile, "w")
        precondition(PEM_write_bio_X509(certificateOutput, certificate) == 1)
        BIO_free(certificateOutput)
        let keyOutput = BIO_new_file(keyFile, "w")
        precondition(PEM_write_bio_PrivateKey(keyOutput, key, nil, nil, 0, nil, nil) == 1)
        BIO_free(keyOutput)
    }
}
