package import HearthEventLoop

/// The certificates of a cluster's own authority: of this node, and of those that it talks to. All are both servers and
/// clients.
package struct ClusterSecurity: Sendable {
    /// PEM: the authority, whose certificates alone count.
    package var authorityFile: String
    /// PEM: the certificate of this node and its key.
    package var certificate: TLSContext.Certificate

    package init(authorityFile: String, certificate: TLSContext.Certificate) {
        self.authorityFile = authorityFile
        self.certificate = certificate
    }

    /// For connections that this node makes.
    package func client() throws(TLSError) -> TLSContext {
        try .client(trusting: .file(authorityFile), certificate: certificate)
    }

    /// For those that it accepts.
    package func server() throws(TLSError) -> TLSContext {
        try .server(
            certificateFile: certificate.certificateFile, keyFile: certificate.keyFile,
            clientAuthorities: authorityFile)
    }
}
