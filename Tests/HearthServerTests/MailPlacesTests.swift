import Glibc
import HearthIdentity
import HearthServerLog
import HearthTestSupport
import Testing

@testable import HearthAccountEndpoints

@Suite("Places of mails") struct MailPlacesTests {
    /// A command that sends nothing until it may.
    private final class Gate {
        private let folder = TemporaryFolder()
        private let path: String
        private let writer: Int32

        init() {
            path = folder.path + "/gate"
            mkfifo(path, 0o600)
            // Reading ends when this is closed.
            writer = Glibc.open(path, O_RDWR)
        }

        var delivery: IdentityConfiguration.CodeDelivery { .command("cat > /dev/null; cat \(path) > /dev/null") }

        func open() {
            unlink(path)
            TemporaryFolder.write([], to: path)
            close(writer)
        }
    }

    private let mail = CodeMail(
        OneTimeCode(kind: .resetPassword, user: "u", email: "ann@example.com", newEmail: nil, expiresAt: 0), link: "l")

    @Test("a client leaves room for the mails of others, and all leave room for mails that nobody has asked for")
    func shares() throws {
        let gate = Gate()
        let mailer = try CodeMailer(gate.delivery, capacity: 16, log: Log(level: .error))
        func taken(by client: String) -> Int64 {
            var count: Int64 = 0
            while count < 300, mailer.reserve(for: client) {
                mailer.sendReserved(mail, for: client)
                count += 1
            }
            return count
        }
        #expect(taken(by: "ann") == 6)
        #expect(taken(by: "bob") == 3)
        #expect(taken(by: "cleo") == 2)
        #expect(taken(by: "dan") == 1)
        #expect(taken(by: "eve") == 0)
        #expect(mailer.count(of: .dropped) == 0)
        for _ in 0..<3 { mailer.send(mail, for: "eve") }
        #expect(mailer.count(of: .dropped) == 1)
        gate.open()
        mailer.stop()
        #expect(mailer.count(of: .sent) == 14)
    }

    @Test("a place that is not needed is free again, and what is to look like a mail has one")
    func freed() throws {
        let gate = Gate()
        let mailer = try CodeMailer(gate.delivery, capacity: 4, log: Log(level: .error))
        for _ in 0..<3 {
            #expect(mailer.reserve(for: "ann"))
            mailer.free(for: "ann")
        }
        #expect(mailer.reserve(for: "ann"))
        mailer.sendReserved(mail, for: "ann")
        #expect(mailer.reserve(for: "ann"))
        mailer.sendReserved(nil, for: "ann")
        #expect(!mailer.reserve(for: "ann"))
        #expect(mailer.reserve(for: "bob"))
        gate.open()
        mailer.stop()
        #expect(mailer.count(of: .sent) == 1)
    }

    @Test("a client whose mails are all waiting is told to come later, whether there is an account or not")
    func busy() throws {
        let gate = Gate()
        let client = try IdentityClient(isDevelopment: false) {
            $0.options.protectsEmails = true
            $0.delivery = gate.delivery
            $0.mailsMax = 4
        }
        for name in ["ann", "bob", "cleo"] { _ = try client.signUp("\(name)@example.com") }
        func status(_ name: String) throws -> Int {
            try client.post("sendOobCode", #"{"requestType":"PASSWORD_RESET","email":"\#(name)@example.com"}"#).status
        }
        #expect(try status("ann") == 200)
        #expect(try status("nobody") == 200)
        #expect(try status("cleo") == 503)
        #expect(try status("none") == 503)
        gate.open()
        try blockUntil("a place") { try status("cleo") == 200 }
    }
}
