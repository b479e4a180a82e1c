import CHearthOpenSSL

/// An authority of one's own, which gives certificates (RFC 5280) to machines that are servers and clients of each
/// other.
package struct CertificateAuthority: Sendable {
    /// Texts in PEM.
    package struct Identity: Sendable {
        package let certificate: [UInt8]
        package let key: [UInt8]

        package init(certificate: [UInt8], key: [UInt8]) {
            self.certificate = certificate
            self.key = key
        }
    }

    package let identity: Identity

    /// One that was made before.
    package init(_ identity: Identity) { self.identity = identity }

    /// Makes an authority, whose certificates are valid in the given seconds since 1970. Takes up to 0.6 s.
    package static func make(validity: Range<Int64>) throws(CryptographyError) -> CertificateAuthority {
        let key = try KeyHandle.makeRSA(bitCount: 2048)
        let certificate = try Certificate(key, subject: "cluster authority", validity: validity)
        try certificate.add(NID_basic_constraints, "critical,CA:TRUE,pathlen:0")
        try certificate.add(NID_key_usage, "critical,keyCertSign,cRLSign")
        let pem = try certificate.signed(by: key, issuer: certificate)
        return CertificateAuthority(Identity(certificate: pem, key: try key.privatePEM()))
    }

    /// Makes a key and a certificate for a machine. Its subject has no common name: etcd takes that for the name of a
    /// user. Takes up to 0.6 s.
    ///
    /// - parameter hosts: names and addresses by which others reach it, each of letters, digits and `.-:`.
    package func makeIdentity(
        of machine: String, hosts: [String], validity: Range<Int64>
    ) throws(CryptographyError) -> Identity {
        let own = try Memory.reading(identity.certificate) { PEM_read_bio_X509($0, nil, nil, nil) }
        guard let own else { throw .last("read the authority's certificate") }
        let issuer = Certificate(own)
        let key = try KeyHandle.makeRSA(bitCount: 2048)
        let certificate = try Certificate(key, subject: machine, validity: validity)
        try certificate.add(NID_basic_constraints, "critical,CA:FALSE")
        try certificate.add(NID_key_usage, "critical,digitalSignature,keyEncipherment")
        // The gateway of etcd is a client of its own server, with the server's certificate.
        try certificate.add(NID_ext_key_usage, "serverAuth,clientAuth")
        let names = hosts.map { host in
            (HostAddress.isAddress(host) ? "IP:" : "DNS:") + host
        }
        try certificate.add(NID_subject_alt_name, names.joined(separator: ","))
        let authorityKey = try KeyHandle.privateKey(pem: identity.key)
        let pem = try certificate.signed(by: authorityKey, issuer: issuer)
        return Identity(certificate: pem, key: try key.privatePEM())
    }
}

private enum HostAddress {
    /// Whether a text is an IPv4 or IPv6 address.
    static func isAddress(_ host: String) -> Bool {
        guard let address = a2i_IPADDRESS(host) else {
            ERR_clear_error()
            return false
        }
        ASN1_OCTET_STRING_free(address)
        return true
    }
}

/// A certificate that is being made, or one that is there.
private final class Certificate {
    private let certificate: OpaquePointer

    init(_ certificate: OpaquePointer) { self.certificate = certificate }

    deinit { X509_free(certificate) }

    init(_ key: KeyHandle, subject: String, validity: Range<Int64>) throws(CryptographyError) {
        guard let certificate = X509_new() else { throw .last("make a certificate") }
        self.certificate = certificate
        var serial = Cryptography.randomBytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // Positive (section 4.1.2.2).
        serial = serial >> 1 | 1
        guard X509_set_version(certificate, 2) == 1,
            ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial) == 1,
            ASN1_TIME_set(X509_getm_notBefore(certificate), Int(validity.lowerBound)) != nil,
            ASN1_TIME_set(X509_getm_notAfter(certificate), Int(validity.upperBound)) != nil,
            let name = X509_get_subject_name(certificate),
            X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, "hearth", -1, -1, 0) == 1,
            X509_NAME_add_entry_by_txt(name, "OU", MBSTRING_UTF8, subject, -1, -1, 0) == 1,
            X509_set_pubkey(certificate, key.key) == 1
        else { throw .last("make a certificate") }
    }

    func add(_ kind: Int32, _ value: String) throws(CryptographyError) {
        guard let item = X509V3_EXT_conf_nid(nil, nil, kind, value) else { throw .last("make a certificate") }
        defer { X509_EXTENSION_free(item) }
        guard X509_add_ext(certificate, item, -1) == 1 else { throw .last("make a certificate") }
    }

    /// The PEM text.
    func signed(by key: KeyHandle, issuer: Certificate) throws(CryptographyError) -> [UInt8] {
        guard X509_set_issuer_name(certificate, X509_get_subject_name(issuer.certificate)) == 1,
            X509_sign(certificate, key.key, EVP_sha256()) > 0
        else { throw .last("sign a certificate") }
        return try Memory.writing { PEM_write_bio_X509($0, certificate) == 1 }
    }
}
