package import HearthEventLoop

/// Where mails are handed in, and by whom.
package struct SMTPSettings: Sendable {
    package struct Credentials: Sendable {
        package var user: String
        package var password: String

        package init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    package var host: String
    package var port: UInt16
    /// Encrypted from the first byte (RFC 8314); otherwise with credentials from STARTTLS on (RFC 3207), and without
    /// them not at all.
    package var usesTLS = false
    package var sender: String
    package var credentials: Credentials?
    /// Whom to trust.
    package var authorities = TLSContext.Authorities.system

    package init(host: String, port: UInt16, sender: String) {
        self.host = host
        self.port = port
        self.sender = sender
    }
}
