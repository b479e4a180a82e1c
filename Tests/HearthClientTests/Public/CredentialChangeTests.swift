import HearthClient
import HearthClientTransport
import HearthServerSupport
import Synchronization
import Testing

@Suite("A database whose user changes", .timeLimit(.minutes(15)))
struct CredentialChangeTests {
    @Test("while it signs in sends nothing as the user before", arguments: ["bob", nil])
    func whileSigningIn(next: String?) async throws {
        let unanswered = Mutex<(Peer, String)?>(nil)
        let server = ScriptedServer(
            .init(received: { peer, text in
                if text.contains(#""cred":"ann""#) {
                    unanswered.withLock { $0 = (peer, text) }
                } else {
                    peer.answer(to: text)
                }
            }))
        let token = Mutex<String?>("ann")
        let database = try server.client { $0.tokenProvider = { _ in token.withLock(\.self) } }
        database.reference(withPath: "x").setValue(1, withCompletionBlock: nil)
        #expect(await server.heard.next(#"{"t":"d","d":{"r":1,"a":"auth""#) != nil)
        token.withLock { $0 = next }
        database.credentialChanged()
        let request = unanswered.withLock(\.self)
        let (peer, text) = try #require(request)
        peer.loop.execute { peer.answer(to: text) }
        try await database.waitForPendingWrites()
        let requests = [#""cred":"ann""#, #""cred":"bob""#, #""a":"unauth""#, #""a":"p""#]
        let sent = server.heard.all.compactMap { line in requests.first { line.contains($0) } }
        #expect(sent == [requests[0], next == nil ? requests[2] : requests[1], requests[3]])
    }
}
