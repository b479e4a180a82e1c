import HearthFetching
import HearthTestSupport
import Testing

/// What relays say is tested with the mails, in `CodeMailTests`.
@Suite("Mails that are handed in") struct MailHandInTests {
    @Test("a relay that says nothing is given up, and so is one that never stops talking")
    func limits() throws {
        let silent = try AnsweringPeer("")
        let lost = try AnsweringPeer(greeting: "220 hello\r\n", "250 me\r\n", answersMax: 1, closes: false)
        let chatty = try AnsweringPeer(greeting: String(repeating: "220-hello\r\n", count: 10_000), "")
        // The peers that say something have time for that on a busy machine.
        for (peer, limit, failure) in [
            (silent, Duration.seconds(1), FetchFailure.timedOut), (lost, .seconds(5), .timedOut),
            (chatty, Patience.limit, .other("it says too much")),
        ] {
            var mail = MailHandIn(
                host: "127.0.0.1", port: peer.port, encryption: .none, sender: "a@x", recipient: "b@x", message: [])
            mail.limits.answer = limit
            #expect(throws: failure) { try mail.perform() }
        }
        #expect(lost.requests.prefix(2) == ["EHLO hearth\r\n", "MAIL FROM:<a@x>\r\n"])
    }
}
