import HearthEventLoop
import HearthIdentity
import Testing

@testable import HearthAccountEndpoints
@testable import HearthRealtimeSessions

@Suite("Proxies in front of a server") struct TrustedProxyTests {
    private func client(_ peer: String, _ forwarded: [String], trusting proxies: String) throws -> String {
        let proxies = try #require(TrustedProxies(proxies))
        return try #require(
            proxies.client(
                SocketAddress(numeric: peer, port: 1),
                forwardedFor: forwarded.isEmpty ? nil : Array(forwarded.joined(separator: ", ").utf8))
        ).host
    }

    @Test(
        "the client is the last address that is no proxy's",
        arguments: [
            // No proxy is trusted, or not this one.
            ("10.0.0.1", ["1.1.1.1"], "", "10.0.0.1"), ("10.0.0.2", ["1.1.1.1"], "10.0.0.1", "10.0.0.2"),
            ("10.0.0.1", [], "10.0.0.1", "10.0.0.1"), ("10.0.0.1", ["1.1.1.1"], "10.0.0.1", "1.1.1.1"),
            // The client may have invented the earlier addresses.
            ("10.0.0.1", ["9.9.9.9, 1.1.1.1"], "10.0.0.1", "1.1.1.1"),
            ("10.0.0.1", ["9.9.9.9", "1.1.1.1"], "10.0.0.1", "1.1.1.1"),
            ("10.0.0.1", ["1.1.1.1, 10.9.9.9,10.0.0.7"], "10.0.0.0/8", "1.1.1.1"),
            ("10.0.0.1", ["10.1.1.1"], "10.0.0.0/8", "10.1.1.1"),
            ("10.0.0.1", ["1.1.1.1, unknown"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", ["1.1.1.1, unknown, 10.0.0.1"], "10.0.0.1", "10.0.0.1"),
            ("10.0.0.1", ["1.1.1.1:4711"], "10.0.0.1", "1.1.1.1"),
            ("::1", ["[2001:db8::5]:80"], "127.0.0.1, ::1", "2001:db8::5"),
            ("fd00::9", ["2001:db8::5"], "fd00::/8", "2001:db8::5"),
            ("172.16.5.4", ["1.1.1.1"], "172.16.0.0/12", "1.1.1.1"),
            ("172.32.0.1", ["1.1.1.1"], "172.16.0.0/12", "172.32.0.1"),
            ("9.9.9.9", ["1.1.1.1"], "0.0.0.0/0", "1.1.1.1"),
        ] as [(String, [String], String, String)])
    func clients(peer: String, forwarded: [String], proxies: String, expected: String) throws {
        #expect(try client(peer, forwarded, trusting: proxies) == expected)
    }

    @Test(
        "what is no address is refused",
        arguments: ["x", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8/8", "::/129", "10.0.0.1:80"])
    func refused(text: String) { #expect(TrustedProxies(text) == nil) }

    @Test("sign-ins are counted by the client that a trusted proxy names")
    func limits() throws {
        let client = try IdentityClient(
            isDevelopment: false, trustedProxies: try #require(TrustedProxies("127.0.0.1"))
        ) {
            $0.options.attemptsPerAddressMax = 2
            $0.options.protectsEmails = true
        }
        func signIn(_ address: String) throws -> String? {
            try client.ask(
                "POST", "/v1/accounts:signInWithPassword?key=app", #"{"email":"a@b.c","password":"x"}"#,
                ["X-Forwarded-For: \(address)"]
            ).error
        }
        for _ in 0..<2 { #expect(try signIn("1.1.1.1")?.hasPrefix("INVALID_LOGIN") == true) }
        #expect(try signIn("1.1.1.1")?.hasPrefix("TOO_MANY_ATTEMPTS") == true)
        #expect(try signIn("2.2.2.2, 1.1.1.1")?.hasPrefix("TOO_MANY_ATTEMPTS") == true)
        #expect(try signIn("1.1.1.2")?.hasPrefix("INVALID_LOGIN") == true)
    }
}
