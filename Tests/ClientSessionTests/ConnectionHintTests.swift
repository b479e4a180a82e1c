import Testing
import HearthClientSession

@Suite("Hints about servers that cannot be reached")
struct ConnectionHintTests {
    private func hint(_ url: String, _ reason: String) throws -> String {
        ConnectionHint(.disconnected(.unreachable(reason)), try DatabaseURL(url)).text
    }

    @Test("the scheme, the authority and the name are what people get wrong")
    func hints() throws {
        #expect(
            try hint("ws://127.0.0.1:9000", DisconnectReason.endedByServer)
                == "; if it speaks TLS, its URL is wss://127.0.0.1:9000")
        #expect(
            try hint("wss://127.0.0.1:9000", "shake hands: error:0A00010B:SSL routines::wrong version number")
                == "; if it does not speak TLS, its URL is ws://127.0.0.1:9000")
        for reason in ["unable to get local issuer certificate", "self-signed certificate"] {
            #expect(try hint("wss://h:1", "verify the certificate: \(reason)").contains("--ca FILE"))
        }
        #expect(
            try hint("wss://h:1", "verify the certificate: hostname mismatch").contains("a name that the certificate"))
        #expect(try hint("ws://h:1", "Connection refused").isEmpty)
        #expect(ConnectionHint(.disconnected(.silent), try DatabaseURL("ws://h:1")).text.isEmpty)
    }
}
