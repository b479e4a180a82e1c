import CHearthOpenSSL
import Glibc
import Synchronization

/// The shared settings of TLS connections: certificate and key of a server, or the authorities that a client trusts.
/// Any thread.
///
/// TLS 1.2 and 1.3, forward-secret AEAD ciphers, ALPN, no compression, no renegotiation. A client verifies the server's
/// certificate and name.
package final class TLSContext: Sendable {
    /// An application protocol over TLS (RFC 7301).
    package enum ApplicationProtocol: String, Sendable {
        /// The only one of Hearth's servers.
        case http1 = "http/1.1"
        case http2 = "h2"

        /// A list with this one alone: each protocol after its length (section 3.1).
        var list: [UInt8] { [UInt8(rawValue.utf8.count)] + rawValue.utf8 }
    }

    package enum Authorities: Sendable {
        /// Those that the system trusts.
        case system
        /// Only those in a PEM file.
        case file(String)
    }

    /// A certificate with its private key, both in PEM files.
    package struct Certificate: Sendable, Hashable {
        /// The own certificate first, then those that lead to a trusted one.
        package var certificateFile: String
        /// Not encrypted.
        package var keyFile: String

        package init(certificateFile: String, keyFile: String) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    private enum Source: Sendable {
        /// `clientAuthorities`: a PEM file; clients must then have a certificate of one of these authorities.
        case server(Certificate, clientAuthorities: String?)
        case client(Authorities, Certificate?)
        case clientOfThisMachine
    }

    /// One OpenSSL context. Connections hold it for as long as they last.
    private final class Handle: @unchecked Sendable {
        // Safe because: a context is not changed after it was set up, and OpenSSL counts its users atomically.
        let context: OpaquePointer

        init(_ context: OpaquePointer) { self.context = context }

        deinit { SSL_CTX_free(context) }
    }

    private let source: Source
    private let current: Mutex<Handle>

    private init(_ source: Source) throws(TLSError) {
        self.source = source
        current = Mutex(try TLSContext.load(source))
    }

    /// For a server.
    ///
    /// - parameter certificateFile: PEM, the server's certificate first, then those that lead to a trusted one.
    /// - parameter keyFile: PEM, not encrypted; the certificate's private key.
    /// - parameter clientAuthorities: PEM; if given, a client must have a certificate of one of these authorities.
    package static func server(
        certificateFile: String, keyFile: String, clientAuthorities: String? = nil
    ) throws(TLSError) -> TLSContext {
        let certificate = Certificate(certificateFile: certificateFile, keyFile: keyFile)
        return try TLSContext(.server(certificate, clientAuthorities: clientAuthorities))
    }

    /// For a client.
    ///
    /// - parameter certificate: shown to a server that asks for one.
    package static func client(
        trusting authorities: Authorities = .system, certificate: Certificate? = nil
    ) throws(TLSError) -> TLSContext {
        try TLSContext(.client(authorities, certificate))
    }

    /// For a client that reaches a server of this machine by a loopback address. Any certificate is good, as the
    /// server's names its public host. Not for anything secret.
    package static func clientOfThisMachine() throws(TLSError) -> TLSContext { try TLSContext(.clientOfThisMachine) }

    /// Reads the files again. Connections made from now on use them; if anything is wrong with them, the old ones
    /// stay in use.
    package func reload() throws(TLSError) {
        let loaded = try TLSContext.load(source)
        current.withLock { $0 = loaded }
    }

    /// When the server's certificate ends to be valid, in seconds since 1970; nil for a client.
    package var expiry: Int64? {
        current.withLock { handle in
            guard let certificate = SSL_CTX_get0_certificate(handle.context) else { return nil }
            var time = tm()
            guard ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) == 1 else { return nil }
            return Int64(timegm(&time))
        }
    }

    package var isServer: Bool {
        switch source {
        case .server: true
        case .client, .clientOfThisMachine: false
        }
    }

    /// - parameter serverName: whom a client asks for, and whom the server's certificate must name. Servers ignore
    /// it.
    /// - parameter offered: what a client offers to speak.
    func makeSession(
        _ descriptor: Int32, serverName: String, offering offered: ApplicationProtocol = .http1
    ) throws(TLSError) -> TLSSession {
        let handle = current.withLock { $0 }
        guard let ssl = SSL_new(handle.context) else { throw TLSError.last("make a TLS session") }
        // Takes care of `ssl` in any case.
        let session = TLSSession(ssl)
        guard SSL_set_fd(ssl, descriptor) == 1 else { throw TLSError.last("make a TLS session") }
        if isServer {
            SSL_set_accept_state(ssl)
        } else {
            try expect(serverName, of: ssl)
            // Unlike its sisters, this function returns 0 for success.
            guard SSL_set_alpn_protos(ssl, offered.list, UInt32(offered.list.count)) == 0 else {
                throw TLSError.last("offer a protocol")
            }
            SSL_set_connect_state(ssl)
        }
        return session
    }

    private func expect(_ serverName: String, of ssl: OpaquePointer) throws(TLSError) {
        // An address is checked against the certificate's addresses, and is not a name that SNI could carry.
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), serverName) == 1 { return }
        ERR_clear_error()
        SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        guard SSL_set1_host(ssl, serverName) == 1, openssl_set_server_name(ssl, serverName) == 1 else {
            throw TLSError.last("expect the server name \(serverName)")
        }
    }

    // MARK: Loading

    private static func load(_ source: Source) throws(TLSError) -> Handle {
        ERR_clear_error()
        let method = if case .server = source { TLS_server_method() } else { TLS_client_method() }
        guard let context = SSL_CTX_new(method) else { throw TLSError.last("make a TLS context") }
        let handle = Handle(context)
        guard openssl_configure(context) == 1,
            SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1
        else { throw TLSError.last("configure TLS") }
        switch source {
        case .server(let certificate, let clientAuthorities):
            try load(certificate, context)
            SSL_CTX_set_alpn_select_cb(context, TLSContext.selectProtocol, nil)
            if let clientAuthorities {
                try loadAuthorities(clientAuthorities, context)
                SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
            }
        case .client(let authorities, let certificate):
            try loadClient(context, authorities)
            if let certificate { try load(certificate, context) }
        case .clientOfThisMachine: SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
        }
        return handle
    }

    private static func load(_ certificate: Certificate, _ context: OpaquePointer) throws(TLSError) {
        let certificateFile = certificate.certificateFile
        let keyFile = certificate.keyFile
        guard SSL_CTX_use_certificate_chain_file(context, certificateFile) == 1 else {
            throw PEMFile(certificateFile).problem(expecting: .certificate)
                ?? TLSError.last("read the certificate \(certificateFile)")
        }
        // An encrypted key is an error; OpenSSL would ask for its password on the terminal.
        SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
        guard SSL_CTX_use_PrivateKey_file(context, keyFile, SSL_FILETYPE_PEM) == 1 else {
            throw PEMFile(keyFile).problem(expecting: .privateKey)
                ?? (isMismatch ? mismatch(keyFile, certificateFile) : TLSError.last("read the private key \(keyFile)"))
        }
        guard SSL_CTX_check_private_key(context) == 1 else { throw mismatch(keyFile, certificateFile) }
    }

    private static func loadAuthorities(_ path: String, _ context: OpaquePointer) throws(TLSError) {
        guard SSL_CTX_load_verify_locations(context, path, nil) == 1 else {
            throw PEMFile(path).problem(expecting: .certificate)
                ?? TLSError.last("read the certificate authorities \(path)")
        }
    }

    /// The last error is that a key and a certificate do not belong together.
    private static var isMismatch: Bool { openssl_is_key_mismatch(ERR_peek_error()) == 1 }

    private static func mismatch(_ keyFile: String, _ certificateFile: String) -> TLSError {
        ERR_clear_error()
        return TLSError("the private key \(keyFile) does not belong to the certificate \(certificateFile)")
    }

    private static func loadClient(_ context: OpaquePointer, _ authorities: Authorities) throws(TLSError) {
        switch authorities {
        case .system:
            guard SSL_CTX_set_default_verify_paths(context) == 1 else {
                throw TLSError.last("read the system's certificate authorities")
            }
        case .file(let path): try loadAuthorities(path, context)
        }
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    }

    /// Takes `http/1.1` if it is offered, and refuses a client that offers only others (RFC 7301, section 3.2).
    private static let selectProtocol: SSL_CTX_alpn_select_cb_func = { _, selected, selectedCount, offered, count, _ in
        let list = UnsafeBufferPointer(start: offered, count: Int(count))
        var start = 0
        while start < list.count {
            let end = start + 1 + Int(list[start])
            guard end <= list.count else { break }
            if list[start..<end].elementsEqual(ApplicationProtocol.http1.list) {
                selectedCount?.pointee = list[start]
                selected?.pointee = list.baseAddress! + start + 1
                return SSL_TLSEXT_ERR_OK
            }
            start = end
        }
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
}
