import Testing
import HearthWebSocketCodec

@Suite("Closing handshake")
struct CloseHandshakeTests {
    private typealias Step = CloseHandshake.Step

    private func ended(_ role: WebSocketRole) -> CloseHandshake.Transport { role == .server ? .shut : .awaitPeer }

    @Test(
        "a close frame is answered with its code, then the server ends the transport", arguments: WebSocketRole.allCases
    )
    func peerCloses(role: WebSocketRole) {
        for code in [CloseCode.normal, CloseCode(rawValue: 4001), nil] {
            var close = CloseHandshake(role: role)
            #expect(close.maySend)
            #expect(close.code == .abnormal)
            #expect(close.received(code) == Step(send: .init(code: code), transport: ended(role)))
            #expect(!close.maySend)
            #expect(close.code == code ?? .noStatus)
            // Nothing is sent twice.
            #expect(close.received(.goingAway) == Step(transport: ended(role)))
            #expect(close.close(.goingAway) == Step(transport: ended(role)))
            #expect(close.failed(.reservedBits) == Step(transport: .shut))
            #expect(close.code == code ?? .noStatus)
        }
    }

    @Test("our close frame waits for its answer", arguments: WebSocketRole.allCases)
    func weClose(role: WebSocketRole) {
        var close = CloseHandshake(role: role)
        let frame = CloseHandshake.Frame(code: .goingAway, reason: "restart")
        #expect(close.close(.goingAway, reason: "restart") == Step(send: frame, transport: .awaitPeer))
        #expect(!close.maySend)
        #expect(close.code == .abnormal)
        #expect(close.close(.normal) == Step(transport: .awaitPeer))
        #expect(close.received(.goingAway) == Step(transport: ended(role)))
        #expect(close.code == .goingAway)
    }

    @Test("a violation is told once and ends the transport", arguments: WebSocketRole.allCases)
    func violation(role: WebSocketRole) {
        var close = CloseHandshake(role: role)
        let step = close.failed(.textNotUTF8)
        #expect(step == Step(send: .init(code: .invalidPayload, reason: "text is not UTF-8"), transport: .shut))
        #expect(close.failed(.textNotUTF8) == Step(transport: .shut))
        #expect(close.code == .invalidPayload)

        // After our own close frame no other may follow.
        var closing = CloseHandshake(role: role)
        _ = closing.close(.normal)
        #expect(closing.failed(.reservedBits) == Step(transport: .shut))
        #expect(closing.code == .protocolError)
    }
}
