import HearthBytes
import HearthEventLoop

/// A mail relay (RFC 5321): one near by that wants no credentials, or any that takes them over TLS.
struct SMTPRelay {
    private static let timeout = Duration.seconds(30)

    private let settings: SMTPSettings

    init(_ settings: SMTPSettings) { self.settings = settings }

    func send(_ message: String, to recipient: String) throws(MailError) {
        do throws(WaitingConnection.Failure) {
            let connection = try WaitingConnection(host: settings.host, port: settings.port, timeout: Self.timeout)
            var dialog = Dialog(connection: connection)
            try open(&dialog)
            try dialog.say("MAIL FROM:<\(settings.sender)>", expecting: 250)
            try dialog.say("RCPT TO:<\(recipient)>", expecting: 250)
            try dialog.say("DATA", expecting: 354)
            try dialog.say(Self.stuffed(message) + "\r\n.", expecting: 250)
            _ = try? dialog.say("QUIT", expecting: 221)
        } catch { throw MailError(reason: "the mail relay \(settings.host): \(error)") }
    }

    /// To where mails are taken: encrypted and signed in, if that is wanted.
    private func open(_ dialog: inout Dialog) throws(WaitingConnection.Failure) {
        if settings.usesTLS { try startTLS(dialog) }
        _ = try dialog.expect(220)
        var abilities = try dialog.say("EHLO hearth", expecting: 250)
        guard let credentials = settings.credentials else { return }
        if !settings.usesTLS {
            guard abilities.contains("STARTTLS") else {
                throw .init(description: "it does not offer STARTTLS, and credentials are not shown without encryption")
            }
            try dialog.say("STARTTLS", expecting: 220)
            // Data from before the handshake is not authenticated.
            guard dialog.isDry else { throw .init(description: "it speaks before TLS has begun") }
            try startTLS(dialog)
            abilities = try dialog.say("EHLO hearth", expecting: 250)
        }
        try signIn(credentials, &dialog, abilities)
    }

    private func startTLS(_ dialog: Dialog) throws(WaitingConnection.Failure) {
        let context: TLSContext
        do throws(TLSError) {
            if let own = settings.tls { context = own } else { context = try TLSContext.client() }
        } catch { throw .init(description: error.description) }
        try dialog.connection.startTLS(context, serverName: settings.host)
    }

    /// RFC 4954, with PLAIN (RFC 4616), or LOGIN, which some know alone.
    private func signIn(
        _ credentials: SMTPSettings.Credentials, _ dialog: inout Dialog, _ abilities: [String]
    ) throws(WaitingConnection.Failure) {
        func encoded(_ text: String) -> String {
            String(decoding: Base64.standard.encode(Array(text.utf8)), as: UTF8.self)
        }
        let ways = abilities.first { $0.hasPrefix("AUTH ") }?.split(separator: " ").dropFirst() ?? []
        if ways.contains("PLAIN") {
            let plain = encoded("\0\(credentials.user)\0\(credentials.password)")
            try dialog.say("AUTH PLAIN \(plain)", expecting: 235, what: "the credentials")
        } else if ways.contains("LOGIN") {
            try dialog.say("AUTH LOGIN", expecting: 334)
            try dialog.say(encoded(credentials.user), expecting: 334, what: "the user")
            try dialog.say(encoded(credentials.password), expecting: 235, what: "the credentials")
        } else {
            throw .init(description: "it takes credentials neither by PLAIN nor by LOGIN")
        }
    }

    /// A line that begins with a dot gets another one (RFC 5321, section 4.5.2).
    static func stuffed(_ message: String) -> String {
        message.split(separator: "\r\n", omittingEmptySubsequences: false).map { $0.hasPrefix(".") ? ".\($0)" : $0 }
            .joined(separator: "\r\n")
    }

    private struct Dialog {
        let connection: WaitingConnection
        private var input: [UInt8] = []

        init(connection: WaitingConnection) { self.connection = connection }

        var isDry: Bool { input.isEmpty }

        /// - parameter what: a description of the line for messages, which never hold the line itself.
        @discardableResult
        mutating func say(
            _ line: String, expecting code: Int, what: String? = nil
        ) throws(WaitingConnection.Failure) -> [String] {
            try connection.send(Array((line + "\r\n").utf8))
            return try expect(code, what)
        }

        /// Reads a reply to its last line, in which a space follows the code. Answers its texts, in upper case.
        mutating func expect(_ code: Int, _ what: String? = nil) throws(WaitingConnection.Failure) -> [String] {
            var texts: [String] = []
            while true {
                let line = try line()
                guard line.utf8.count >= 3 else { throw .init(description: "it speaks another language") }
                texts.append(line.dropFirst(4).uppercased())
                if line.dropFirst(3).first == "-" { continue }
                guard line.hasPrefix(String(code)) else {
                    let subject = what.map { " to \($0)" } ?? ""
                    throw .init(description: "it answered \(line.prefix(200)), not \(code)\(subject)")
                }
                return texts
            }
        }

        private mutating func line() throws(WaitingConnection.Failure) -> String {
            while true {
                if let end = input.firstIndex(of: UInt8(ascii: "\n")) {
                    let line = String(decoding: input[..<end], as: UTF8.self)
                    input.removeFirst(end + 1)
                    return line.hasSuffix("\r") ? String(line.dropLast()) : line
                }
                let more = try connection.receive()
                guard !more.isEmpty, input.count < 64 << 10 else { throw .init(description: "it has hung up") }
                input += more
            }
        }
    }
}
