package import HearthEventLoop
import HearthFetching

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

/// A mail relay: one near by that wants no credentials, or any that takes them over TLS.
struct SMTPRelay {
    private let settings: SMTPSettings

    init(_ settings: SMTPSettings) { self.settings = settings }

    func send(_ message: String, to recipient: String) throws(MailError) {
        let encryption: MailHandIn.Encryption =
            settings.usesTLS ? .tls : settings.credentials == nil ? .none : .startTLS
        var mail = MailHandIn(
            host: settings.host, port: settings.port, encryption: encryption, sender: settings.sender,
            recipient: recipient, message: Array(message.utf8))
        mail.credentials = settings.credentials.map { ($0.user, $0.password) }
        mail.authorities = settings.authorities
        do throws(FetchFailure) {
            try mail.perform()
        } catch {
            throw MailError(reason: "the mail relay \(settings.host): \(reason(error))")
        }
    }

    private func reason(_ failure: FetchFailure) -> String {
        switch failure {
        case .nameNotFound: "\(settings.host) has no address"
        case .notConnected: "\(settings.host):\(settings.port) cannot be reached"
        case .timedOut: "it does not answer"
        default: failure.description
        }
    }
}
