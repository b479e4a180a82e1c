import HearthFetching

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
