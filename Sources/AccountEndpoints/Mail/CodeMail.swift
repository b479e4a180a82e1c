import HearthIdentity
import HearthJSONWebTokens
import HearthServerLog
import Synchronization
import HearthSystem

/// A mail with a link, as RFC 5322 has it.
struct CodeMail: Sendable {
    let recipient: String
    let kind: OneTimeCode.Kind
    let link: String

    init(_ code: OneTimeCode, link: String) {
        recipient = code.kind == .verifyAndChangeEmail ? code.newEmail ?? code.email : code.email
        kind = code.kind
        self.link = link
    }

    private var subject: String {
        switch kind {
        case .resetPassword: "Reset your password"
        case .verifyEmail: "Verify your email address"
        case .emailSignIn: "Sign in"
        case .verifyAndChangeEmail: "Verify your new email address"
        case .recoverEmail: "Your email address was changed"
        }
    }

    private var body: String {
        let what =
            switch kind {
            case .resetPassword: "Follow this link to choose a new password:"
            case .verifyEmail: "Follow this link to verify your email address:"
            case .emailSignIn: "Follow this link to sign in:"
            case .verifyAndChangeEmail: "Follow this link to verify your new email address:"
            case .recoverEmail:
                "The address of your account was changed. If that was not you, follow this link to change it back:"
            }
        let end = kind == .recoverEmail ? "" : "\r\nIf you did not ask for this, you can ignore this mail.\r\n"
        return "\(what)\r\n\r\n\(link)\r\n\(end)"
    }

    /// - parameter sender: an address; nil leaves it to the mail program.
    func message(from sender: String?, milliseconds: Int64) -> String {
        var fields = ["To: <\(recipient)>", "Subject: \(subject)"]
        if let sender { fields.insert("From: <\(sender)>", at: 0) }
        fields += [
            "Date: \(MailDate(milliseconds: milliseconds))", "Message-ID: <\(Cryptography.randomName(32))@hearth>",
            "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: 8bit",
            "Auto-Submitted: auto-generated",
        ]
        return fields.joined(separator: "\r\n") + "\r\n\r\n" + body
    }
}

/// A moment as mails have it (RFC 5322, section 3.3), in UTC.
struct MailDate: CustomStringConvertible {
    let milliseconds: Int64

    var description: String {
        // "2026-11-22T00:00:00.000Z"
        let text = Timestamp(milliseconds: milliseconds).description
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let month = Int(text.dropFirst(5).prefix(2)) ?? 1
        return
            "\(text.dropFirst(8).prefix(2)) \(months[(month - 1) % 12]) \(text.prefix(4)) \(text.dropFirst(11).prefix(8)) +0000"
    }
}

/// Sends mails, one after the other, on a separate thread. Failures are logged; the user asks again.
package final class CodeMailer: Sendable {
    /// The outcome of a mail.
    package enum End: Int, CaseIterable {
        case sent, failed
        /// Never tried: too many waited, or nothing can be sent to the address.
        case dropped

        package var name: StaticString {
            switch self {
            case .sent: "sent"
            case .failed: "failed"
            case .dropped: "dropped"
            }
        }
    }

    private final class Tally: Sendable {
        private let counts = Mutex([Int64](repeating: 0, count: End.allCases.count))

        func add(_ end: End) { counts.withLock { $0[end.rawValue] += 1 } }

        func count(of end: End) -> Int64 { counts.withLock { $0[end.rawValue] } }
    }

    private struct Item: Sendable {
        /// Nil if nothing is sent and the client must not notice: the item takes its place all the same.
        let mail: CodeMail?
        let client: String
    }

    private final class Places: Sendable {
        let value: Mutex<MailPlaces>

        init(capacity: Int) { value = Mutex(MailPlaces(capacity: capacity)) }
    }

    private let worker: Worker<Item>
    private let log: Log
    private let tally: Tally
    private let places: Places

    /// - parameter capacity: how many mails may wait or be under way.
    init(_ delivery: IdentityConfiguration.CodeDelivery, capacity: Int = 256, log: Log) throws(SystemError) {
        self.log = log
        let (tally, places) = (Tally(), Places(capacity: capacity))
        (self.tally, self.places) = (tally, places)
        worker = try Worker(name: "mail") {
            { items in
                for item in items {
                    if let mail = item.mail, let end = Self.send(mail, delivery, log) { tally.add(end) }
                    places.value.withLock { $0.free(for: item.client) }
                }
            }
        }
    }

    /// Takes a place for a mail that a client asks for. False if there are too many.
    func reserve(for client: String) -> Bool {
        places.value.withLock { $0.take(for: client, isAskedFor: true) }
    }

    /// Gives back a place that is not needed.
    func free(for client: String) { places.value.withLock { $0.free(for: client) } }

    /// Sends the mail for which a place was reserved. With nil nothing is sent, and the place is in use for as long.
    func sendReserved(_ mail: CodeMail?, for client: String) {
        // Accounts from before may have any.
        if let mail, !AccountNames.isMailable(mail.recipient) {
            drop("the address cannot be written to")
            return free(for: client)
        }
        if !worker.post(Item(mail: mail, client: client)) {
            if mail != nil { drop("the server stops") }
            free(for: client)
        }
    }

    /// Sends a mail that nobody has asked for, if there is a place.
    ///
    /// - parameter client: the client whose request caused it.
    func send(_ mail: CodeMail, for client: String) {
        guard places.value.withLock({ $0.take(for: client, isAskedFor: false) }) else {
            return drop("too many are waiting")
        }
        sendReserved(mail, for: client)
    }

    private func drop(_ reason: StaticString) {
        tally.add(.dropped)
        log.warning("mail.dropped", [("reason", "\(reason)")])
    }

    /// Since the start. Links that are written to the log are not mails.
    package func count(of end: End) -> Int64 { tally.count(of: end) }

    func stop() { worker.stop() }

    /// Nil if nothing is sent, by the configuration.
    private static func send(
        _ mail: CodeMail, _ delivery: IdentityConfiguration.CodeDelivery, _ log: Log
    ) -> End? {
        do throws(MailError) {
            switch delivery {
            case .log:
                log.info("auth.code", [("kind", mail.kind.rawValue), ("to", mail.recipient), ("link", mail.link)])
                return nil
            case .none: return nil
            case .command(let command):
                let message = mail.message(from: nil, milliseconds: WallClock.milliseconds)
                try MailCommand(command).run(message, recipient: mail.recipient)
            case .relay(let settings):
                let message = mail.message(from: settings.sender, milliseconds: WallClock.milliseconds)
                try SMTPRelay(settings).send(message, to: mail.recipient)
            }
            log.debug("mail.sent", [("kind", mail.kind.rawValue)])
            return .sent
        } catch {
            log.error("mail.failed", [("kind", mail.kind.rawValue), ("reason", error.reason)])
            return .failed
        }
    }
}
