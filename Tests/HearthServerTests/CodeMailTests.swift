import Glibc
import HearthIdentity
import Synchronization
import HearthTestSupport
import Testing

@testable import HearthEventLoop
@testable import HearthSystem
@testable import HearthServerLog
@testable import HearthAccountEndpoints

/// Where a command leaves mails.
struct MailBox {
    private let path: String

    init(_ folder: TemporaryFolder) { path = folder.path + "/mail" }

    /// The mail, once it is there.
    func mail() throws -> String {
        try blockUntil("a mail") { access(path, F_OK) == 0 }
        return String(decoding: TemporaryFolder.contents(of: path), as: UTF8.self)
    }
}

@Suite("Mails with codes") struct CodeMailTests {
    private let mail = CodeMail(
        OneTimeCode(kind: .resetPassword, user: "u", email: "ann@example.com", newEmail: nil, expiresAt: 0),
        link: "https://a.example/x?y=z")

    @Test("a mail has the fields that it needs (RFC 5322)")
    func message() throws {
        let text = mail.message(from: "noreply@example.com", milliseconds: 1_700_000_000_000)
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1)
        let fields = parts[0].split(separator: "\r\n")
        #expect(fields[0] == "From: <noreply@example.com>")
        #expect(fields.contains("To: <ann@example.com>"))
        #expect(fields.contains("Date: 14 Nov 2023 22:13:20 +0000"))
        #expect(parts[1].contains("\r\nhttps://a.example/x?y=z\r\n"))
        #expect(!text.replacing("\r\n", with: "").contains("\n"))
    }

    @Test("the mail about a new address goes there, the one about a lost address to the lost one")
    func recipients() {
        let change = OneTimeCode(
            kind: .verifyAndChangeEmail, user: "u", email: "old@x", newEmail: "new@x", expiresAt: 0)
        #expect(CodeMail(change, link: "").recipient == "new@x")
        let recover = OneTimeCode(kind: .recoverEmail, user: "u", email: "old@x", newEmail: "new@x", expiresAt: 0)
        #expect(CodeMail(recover, link: "").recipient == "old@x")
    }

    @Test("nothing is sent to an address that is an option, or holds the end of a line or a field")
    func unsafeRecipients() throws {
        let folder = TemporaryFolder()
        let mailer = try CodeMailer(
            .command("echo \"$HEARTH_MAIL_TO\" >> \(folder.path)/mail"), log: Log(level: .error))
        for recipient in [
            "-oQ/tmp@x", "a@x\r\nRCPT TO:<b@y>", "a@x>\nBcc: b@y", "a b@x", "a\0@x", "a\u{85}@x", "",
            "good@example.com",
        ] {
            let code = OneTimeCode(kind: .resetPassword, user: "u", email: recipient, newEmail: nil, expiresAt: 0)
            mailer.send(CodeMail(code, link: "https://a.example"), for: "")
        }
        mailer.stop()
        let sent = String(decoding: TemporaryFolder.contents(of: folder.path + "/mail"), as: UTF8.self)
        #expect(sent == "good@example.com\n")
        #expect(CodeMailer.End.allCases.map(mailer.count(of:)) == [1, 0, 7])
    }

    @Test("a command inherits no descriptor that is open by chance")
    func descriptors() throws {
        let folder = TemporaryFolder()
        let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY)
        defer { close(descriptor) }
        try MailCommand("test -e /proc/self/fd/0 && test ! -e /proc/self/fd/\(descriptor)").run("a", recipient: "a@x")
    }

    @Test("a command gets the mail and the address, and its failure is noticed")
    func command() throws {
        let folder = TemporaryFolder()
        try MailCommand("(echo \"$HEARTH_MAIL_TO\"; cat) > \(folder.path)/mail").run("text\r\n", recipient: "a'b@x")
        #expect(
            String(decoding: TemporaryFolder.contents(of: folder.path + "/mail"), as: UTF8.self) == "a'b@x\ntext\r\n")
        let failure = #expect(throws: MailError.self) { try MailCommand("exit 3").run("text", recipient: "a@x") }
        #expect(failure?.reason == "the command failed with status 3")
        // One that does not read all of it.
        let long = String(repeating: "x", count: 1 << 20)
        try MailCommand("true").run(long, recipient: "a@x")
    }

    @Test("a relay gets the mail, line for line (RFC 5321)")
    func relay() throws {
        let relay = try ScriptedRelay([
            "220-hello\r\n220 hello\r\n", "250-me\r\n250 8BITMIME\r\n", "250 ok\r\n", "250 ok\r\n", "354 go on\r\n",
            "250 queued\r\n", "221 bye\r\n",
        ])
        try SMTPRelay(relay.settings).send("a\r\n.b\r\n", to: "r@x")
        #expect(
            relay.received()
                == "EHLO hearth\r\nMAIL FROM:<s@x>\r\nRCPT TO:<r@x>\r\nDATA\r\na\r\n..b\r\n.\r\nQUIT\r\n")
    }

    @Test("a relay that knows HELO alone gets the mail (RFC 5321, section 3.2)")
    func oldRelay() throws {
        let relay = try ScriptedRelay(["220 hello\r\n", "502 what\r\n", "250 me\r\n"] + Self.rest)
        try SMTPRelay(relay.settings).send("a", to: "r@x")
        #expect(relay.received() == "EHLO hearth\r\nHELO hearth\r\n" + Self.mailText)
    }

    @Test("what a relay refuses is an error")
    func refusal() throws {
        let relay = try ScriptedRelay(["220 hello\r\n", "250 me\r\n", "550 no\r\n", "221 bye\r\n"])
        let refusal = #expect(throws: MailError.self) {
            try SMTPRelay(relay.settings).send("a", to: "r@x")
        }
        #expect(refusal?.reason == "the mail relay 127.0.0.1: it answered 550 no, not 250")
        #expect(relay.received() == "EHLO hearth\r\nMAIL FROM:<s@x>\r\nQUIT\r\n")
        let absence = #expect(throws: MailError.self) {
            try SMTPRelay(SMTPSettings(host: "127.0.0.1", port: 1, sender: "s@x")).send("a", to: "r@x")
        }
        #expect(absence?.reason == "the mail relay 127.0.0.1: 127.0.0.1:1 cannot be reached")
        let nonsense = #expect(throws: MailError.self) {
            try SMTPRelay(SMTPSettings(host: "a@127.0.0.1", port: 1, sender: "s@x")).send("a", to: "r@x")
        }
        #expect(nonsense?.reason == "the mail relay a@127.0.0.1: a@127.0.0.1 has no address")
    }

    /// What follows the credentials.
    private static let rest = [
        "250 ok\r\n", "250 ok\r\n", "354 go on\r\n", "250 queued\r\n", "221 bye\r\n",
    ]
    private static let mailText = "MAIL FROM:<s@x>\r\nRCPT TO:<r@x>\r\nDATA\r\na\r\n.\r\nQUIT\r\n"
    private static let credentials = SMTPSettings.Credentials(user: "ann", password: "sécret")

    @Test("credentials are shown over STARTTLS, or TLS from the start", arguments: [false, true], ["PLAIN", "LOGIN"])
    func credentials(usesTLS: Bool, way: String) throws {
        let certificate = TestCertificate()
        let signIn = way == "PLAIN" ? ["235 ok\r\n"] : ["334 UGFzc3dvcmQ6\r\n", "235 ok\r\n"]
        let hello = "250-me\r\n250 AUTH \(way) X\r\n"
        let relay = try ScriptedRelay(
            (usesTLS ? ["220 hello\r\n"] : ["220 hello\r\n", "250-me\r\n250 STARTTLS\r\n", "220 go on\r\n"])
                + [hello] + signIn + Self.rest, certificate: certificate, encryptsFrom: usesTLS ? 0 : 3)
        var settings = relay.settings
        settings.usesTLS = usesTLS
        settings.credentials = Self.credentials
        settings.authorities = .file(certificate.certificateFile)
        try SMTPRelay(settings).send("a", to: "r@x")
        let shown =
            way == "PLAIN"
            ? "AUTH PLAIN AGFubgBzw6ljcmV0\r\n" : "AUTH LOGIN YW5u\r\nc8OpY3JldA==\r\n"
        let start = usesTLS ? "" : "EHLO hearth\r\nSTARTTLS\r\n"
        #expect(relay.received() == start + "EHLO hearth\r\n" + shown + Self.mailText)
    }

    @Test("credentials are sent only with encryption, and only to a server with a valid certificate")
    func withheld() throws {
        let plain = try ScriptedRelay(["220 hello\r\n", "250-me\r\n250 AUTH PLAIN\r\n"])
        var settings = plain.settings
        settings.credentials = Self.credentials
        #expect { try SMTPRelay(settings).send("a", to: "r@x") } throws: {
            ($0 as? MailError)?.reason.contains("does not offer STARTTLS") == true
        }
        #expect(plain.received() == "EHLO hearth\r\n")
        let eager = try ScriptedRelay(["220 hello\r\n", "250 STARTTLS\r\n", "220 go on\r\n250 x\r\n"])
        settings.port = eager.port
        #expect { try SMTPRelay(settings).send("a", to: "r@x") } throws: {
            ($0 as? MailError)?.reason.contains("before TLS has begun") == true
        }
        let other = TestCertificate()
        let stranger = try ScriptedRelay(["220 hello\r\n"], certificate: TestCertificate(), encryptsFrom: 0)
        settings.port = stranger.port
        settings.usesTLS = true
        settings.authorities = .file(other.certificateFile)
        #expect { try SMTPRelay(settings).send("a", to: "r@x") } throws: {
            ($0 as? MailError)?.reason.contains("verify the certificate") == true
        }
    }

    @Test("a relay that takes credentials in no way that is known gets no mail")
    func unknownWay() throws {
        let certificate = TestCertificate()
        for hello in ["250 AUTH CRAM-MD5\r\n", "250-me\r\n250 8BITMIME\r\n", "250 auth PLAIN\r\n", "251 AUTH X\r\n"] {
            let relay = try ScriptedRelay(["220 hello\r\n", hello], certificate: certificate, encryptsFrom: 0)
            var settings = relay.settings
            settings.usesTLS = true
            settings.credentials = Self.credentials
            settings.authorities = .file(certificate.certificateFile)
            let refusal = #expect(throws: MailError.self) { try SMTPRelay(settings).send("a", to: "r@x") }
            #expect(refusal?.reason.hasSuffix("it takes credentials neither by PLAIN nor by LOGIN") == true)
            #expect(relay.received() == "EHLO hearth\r\n")
        }
    }

    @Test("a relay that hangs up or refuses the text is no success")
    func brokenOff() throws {
        let start = ["220 hello\r\n", "250 me\r\n", "250 ok\r\n", "250 ok\r\n"]
        for (answers, reason) in [
            (start + ["354 go on\r\n", "554 spam\r\n", "221 bye\r\n"], "it answered 554 spam, not 250"),
            (start + ["452 full\r\n", "221 bye\r\n"], "it answered 452 full, not 354"),
            (start, "the peer has hung up"),
            (["554 no\r\n"], "it answered 554 no, not 220"),
        ] {
            let relay = try ScriptedRelay(answers)
            let refusal = #expect(throws: MailError.self) { try SMTPRelay(relay.settings).send("a", to: "r@x") }
            #expect(refusal?.reason == "the mail relay 127.0.0.1: \(reason)")
        }
    }

    @Test("a relay that does not take the credentials is quoted, they are not")
    func refusedCredentials() throws {
        let certificate = TestCertificate()
        let relay = try ScriptedRelay(
            ["220 hello\r\n", "250 AUTH PLAIN\r\n", "535 wrong\r\n"], certificate: certificate, encryptsFrom: 0)
        var settings = relay.settings
        settings.usesTLS = true
        settings.credentials = Self.credentials
        settings.authorities = .file(certificate.certificateFile)
        #expect { try SMTPRelay(settings).send("a", to: "r@x") } throws: {
            ($0 as? MailError)?.reason == "the mail relay 127.0.0.1: it answered 535 wrong, not 235 to the credentials"
        }
    }
}

/// One connection, answered line by line: each answer but the first comes when a line has (the text of a mail counts up
/// to its dot).
private final class ScriptedRelay {
    let port: UInt16
    private let thread: NamedThread
    private let text: Text

    private final class Text: Sendable {
        let received = Mutex<[UInt8]>([])
    }

    var settings: SMTPSettings { SMTPSettings(host: "127.0.0.1", port: port, sender: "s@x") }

    /// - parameter encryptsFrom: the number of the answer that is the first to be encrypted.
    init(_ answers: [String], certificate: TestCertificate? = nil, encryptsFrom: Int = .max) throws {
        let tls = try certificate.map {
            try TLSContext.server(certificateFile: $0.certificateFile, keyFile: $0.keyFile)
        }
        let descriptor: Int32
        (descriptor, port) = try LoopbackSocket.listen(backlog: 1)
        let text = Text()
        self.text = text
        thread = try NamedThread(name: "relay") {
            let peer = WaitingConnection(descriptor: accept(descriptor, nil, nil), timeout: .seconds(600))
            try? Self.answer(answers, peer, tls, encryptsFrom, text)
            close(descriptor)
        }
    }

    private static func answer(
        _ answers: [String], _ peer: WaitingConnection, _ tls: TLSContext?, _ encryptsFrom: Int, _ text: Text
    ) throws {
        if encryptsFrom == 0, let tls { try peer.startTLS(tls, serverName: "") }
        for (number, answer) in answers.enumerated() {
            try peer.send(Array(answer.utf8))
            if number + 1 == encryptsFrom, let tls { try peer.startTLS(tls, serverName: "") }
            let end = answer.hasPrefix("354") ? "\r\n.\r\n" : "\r\n"
            var input: [UInt8] = []
            while !input.suffix(end.utf8.count).elementsEqual(end.utf8) {
                let byte = try peer.receive(maximum: 1)
                if byte.isEmpty { break }
                input += byte
            }
            text.received.withLock { $0 += input }
        }
    }

    /// Everything, once the connection has ended.
    func received() -> String {
        thread.join()
        return String(decoding: text.received.withLock { $0 }, as: UTF8.self)
    }
}
