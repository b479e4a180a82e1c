import EventLoop
import Glibc
import Identity
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

/// Where a command leaves mails.
struct MailBox {
    private let path: String

    init(_ folder: TemporaryFolder) { path = folder.path + "/mail" }

    /// The mail, once it is there.
    func mail() throws -> String {
        for _ in 0..<3000 {
            if access(path, F_OK) == 0 { return String(decoding: TemporaryFolder.contents(of: path), as: UTF8.self) }
            usleep(10_000)
        }
        throw MailError(reason: "no mail came")
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

    @Test("a command gets the mail and the address, and its failure is noticed")
    func command() throws {
        let folder = TemporaryFolder()
        try MailCommand("(echo \"$HEARTH_MAIL_TO\"; cat) > \(folder.path)/mail").run("text\r\n", recipient: "a'b@x")
        #expect(
            String(decoding: TemporaryFolder.contents(of: folder.path + "/mail"), as: UTF8.self) == "a'b@x\ntext\r\n")
        #expect(throws: MailError.self) { try MailCommand("exit 3").run("text", recipient: "a@x") }
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
        try SMTPRelay(host: "127.0.0.1", port: relay.port).send("a\r\n.b\r\n", from: "s@x", to: "r@x")
        #expect(
            relay.received()
                == "EHLO hearth\r\nMAIL FROM:<s@x>\r\nRCPT TO:<r@x>\r\nDATA\r\na\r\n..b\r\n\r\n.\r\nQUIT\r\n")
    }

    @Test("what a relay refuses is an error")
    func refusal() throws {
        let relay = try ScriptedRelay(["220 hello\r\n", "250 me\r\n", "550 no\r\n"])
        #expect(throws: MailError.self) {
            try SMTPRelay(host: "127.0.0.1", port: relay.port).send("a", from: "s@x", to: "r@x")
        }
        #expect(relay.received() == "EHLO hearth\r\nMAIL FROM:<s@x>\r\n")
        #expect(throws: MailError.self) {
            try SMTPRelay(host: "127.0.0.1", port: 1).send("a", from: "s@x", to: "r@x")
        }
    }
}

/// One connection, answered line by line: each answer but the first comes when a line has (the text of a mail counts up to its dot).
private final class ScriptedRelay {
    let port: UInt16
    private let thread: NamedThread
    private let text: Text

    private final class Text: Sendable {
        let received = Mutex<[UInt8]>([])
    }

    init(_ answers: [String]) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 1) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(isBound)
        port = UInt16(bigEndian: address.sin_port)
        let text = Text()
        self.text = text
        thread = try NamedThread(name: "relay") {
            let peer = accept(descriptor, nil, nil)
            for answer in answers {
                _ = Glibc.send(peer, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
                let end = answer.hasPrefix("354") ? "\r\n.\r\n" : "\r\n"
                var input: [UInt8] = []
                while !input.suffix(end.utf8.count).elementsEqual(end.utf8) {
                    var byte: UInt8 = 0
                    guard recv(peer, &byte, 1, 0) == 1 else { break }
                    input.append(byte)
                }
                text.received.withLock { $0 += input }
            }
            close(peer)
            close(descriptor)
        }
    }

    /// Everything, once the connection has ended.
    func received() -> String {
        thread.join()
        return String(decoding: text.received.withLock { $0 }, as: UTF8.self)
    }
}
