import CHearthCurl
import CHearthLinux
package import HearthEventLoop

/// A mail that is handed in at a relay (RFC 5321).
package struct MailHandIn: Sendable {
    package enum Encryption: Sendable {
        /// None, even if the relay offers it.
        case none
        /// From STARTTLS on (RFC 3207), which must be offered.
        case startTLS
        /// From the first byte (RFC 8314).
        case tls
    }

    package var host: String
    package var port: UInt16
    package var encryption: Encryption
    /// Shown with encryption only.
    package var credentials: (user: String, password: String)?
    package var authorities = TLSContext.Authorities.system
    package var sender: String
    package var recipient: String
    /// Its lines end with CR and LF.
    package var message: [UInt8]
    /// How long the relay may take for each answer, and for everything.
    package var limits: (answer: Duration, whole: Duration) = (.seconds(30), .seconds(300))

    package init(
        host: String, port: UInt16, encryption: Encryption, sender: String, recipient: String, message: [UInt8]
    ) {
        (self.host, self.port, self.encryption) = (host, port, encryption)
        (self.sender, self.recipient, self.message) = (sender, recipient, message)
    }

    /// Hands it in, and waits for that: for a thread that has nothing else to do. libcurl waits for a relay's answer to
    /// QUIT, and so this is no work for the fetcher's thread.
    package func perform() throws(FetchFailure) {
        linux_block_broken_pipe_signal()
        guard host.utf8.allSatisfy(Self.isOfHost) else { throw .nameNotFound("'\(host)' is no name of a host") }
        let dialog = MailDialog(message, signsIn: credentials != nil, awaitsTLS: encryption == .startTLS)
        let scheme = encryption == .tls ? "smtps" : "smtp"
        let handle = try EasyHandle(scheme, authorities: authorities, timeout: limits.whole, context: dialog)
        // The path is the name in EHLO.
        let authority = host.contains(":") ? "[\(host)]" : host
        try handle.set(CURLOPT_URL, "\(scheme)://\(authority):\(port)/hearth")
        try handle.set(CURLOPT_CONNECTTIMEOUT_MS, limits.answer.milliseconds)
        try handle.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, max(1, limits.answer.milliseconds / 1000))
        try handle.set(CURLOPT_SSL_ENABLE_ALPN, 0)
        let needed = encryption == .startTLS ? CURLUSESSL_ALL : CURLUSESSL_NONE
        try handle.set(CURLOPT_USE_SSL, Int(needed.rawValue))
        if let credentials, encryption != .none {
            try handle.set(CURLOPT_USERNAME, credentials.user)
            try handle.set(CURLOPT_PASSWORD, credentials.password)
            // LOGIN is all that some know.
            try handle.set(CURLOPT_LOGIN_OPTIONS, "AUTH=PLAIN;AUTH=LOGIN")
            try handle.set(CURLOPT_SASL_IR, 1)
        }
        try handle.set(CURLOPT_MAIL_FROM, sender)
        try handle.set(CURLOPT_MAIL_RCPT, lines: [recipient])
        try handle.set(CURLOPT_UPLOAD, 1)
        // The handle keeps the dialog for as long as the callbacks may be called.
        let context = Unmanaged.passUnretained(dialog).toOpaque()
        try handle.check(hearth_curl_set_read(handle.pointer, MailDialog.fillText, context))
        try handle.check(hearth_curl_set_header(handle.pointer, MailDialog.takeReply, context))
        try handle.check(hearth_curl_set_open_socket(handle.pointer, MailDialog.openSocket, context))
        // The debug callback alone sees commands.
        try handle.check(hearth_curl_set_debug(handle.pointer, MailDialog.noteCommand, context))
        try handle.set(CURLOPT_VERBOSE, 1)
        let code = hearth_curl_easy_perform(handle.pointer)
        if code != CURLE_OK { throw dialog.failure(code, handle.text(of: code)) }
    }

    /// The characters of names and addresses of hosts.
    private static func isOfHost(_ byte: UInt8) -> Bool {
        0x61...0x7A ~= byte | 0x20 || 0x30...0x3A ~= byte || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "_")
    }
}
