import HearthTestSupport
import Testing

@testable import HearthFetching

/// What relays say is tested with the mails, in `CodeMailTests`.
@Suite("Mails that are handed in") struct MailHandInTests {
    @Test("a relay that says nothing is given up, and so is one that never stops talking")
    func limits() throws {
        let silent = try AnsweringPeer("")
        let chatty = try AnsweringPeer(greeting: String(repeating: "220-hello\r\n", count: 10_000), "")
        for (port, failure) in [(silent.port, FetchFailure.timedOut), (chatty.port, .other("it says too much"))] {
            var mail = MailHandIn(
                host: "127.0.0.1", port: port, encryption: .none, sender: "a@x", recipient: "b@x", message: [])
            mail.limits.answer = .seconds(1)
            #expect(throws: failure) { try mail.perform() }
        }
    }
}
