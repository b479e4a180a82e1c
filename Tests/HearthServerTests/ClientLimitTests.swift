import HearthEventLoop
import HearthHTTPCodec
import HearthJSONTree
import HearthSystem
import HearthTestSupport
import Testing
import HearthTreeStorage

@testable import HearthServer
@testable import HearthRealtimeSessions

@Suite("What one client address may have") struct ClientLimitTests {
    private static func makeServer(_ configure: (inout ServerConfiguration) -> Void = { _ in }) throws
        -> RealtimeTestServer
    {
        try RealtimeTestServer {
            $0.durability = .memory
            $0.connectionLimits.exemptsLoopback = false
            configure(&$0)
        }
    }

    @Test("connections beyond the limit of an address are closed at once, and those of others are not")
    func connections() throws {
        let server = try Self.makeServer { $0.connectionLimits.connectionsPerClientMax = 3 }
        var open = try (0..<3).map { _ in try server.connectREST() }
        for client in open { #expect(try client.ask("GET", "/x.json").status == 200) }
        func isAdmitted() throws -> Bool {
            let client = try server.connectREST()
            return client.sends("GET /x.json HTTP/1.1\r\nHost: localhost\r\n\r\n") && !client.receivesEnd()
        }
        #expect(try !isAdmitted())
        #expect(try server.connectREST(from: 2).ask("GET", "/x.json").status == 200)
        // One ends, and its place is free when the server has noticed.
        open.removeLast()
        try blockUntil("the place of the connection that has ended", isAdmitted)
        #expect(try open[0].ask("GET", "/x.json").status == 200)
    }

    @Test("connections of this machine and of trusted proxies are not limited")
    func exempt() throws {
        let server = try RealtimeTestServer { $0.connectionLimits.connectionsPerClientMax = 1 }
        let many = try (0..<5).map { _ in try server.connectREST() }
        for client in many { #expect(try client.ask("GET", "/x.json").status == 200) }
        let proxied = try Self.makeServer {
            $0.connectionLimits.connectionsPerClientMax = 1
            $0.trustedProxies = TrustedProxies("127.0.0.1")!
        }
        let others = try (0..<5).map { _ in try proxied.connectREST() }
        for client in others { #expect(try client.ask("GET", "/x.json").status == 200) }
    }

    @Test("sessions and event streams are counted by the client that a proxy names")
    func behindProxies() throws {
        let server = try Self.makeServer {
            $0.connectionLimits.connectionsPerClientMax = 2
            $0.connectionLimits.polledSessionsPerClientMax = 1
            $0.trustedProxies = TrustedProxies("127.0.0.1")!
        }
        let ann = ["X-Forwarded-For: 2001:db8::1"]
        let nearAnn = ["X-Forwarded-For: 2001:db8::ffff"]
        let bob = ["X-Forwarded-For: 192.0.2.1"]
        var clients: [RESTClient] = []
        /// The status of the answer, over a connection that stays open.
        func ask(_ target: String, _ fields: [String]) throws -> Int {
            let client = try server.connectREST()
            clients.append(client)
            try client.send(RESTClient.request("GET", target, fields))
            guard case .head(let head)? = try client.receivePart() else { return 0 }
            return head.status.code
        }
        #expect(try ask("/.lp?start=t", ann) == 200)
        #expect(try ask("/.lp?start=t", nearAnn) == 429)
        #expect(try ask("/.lp?start=t", bob) == 200)
        let stream = ["Accept: text/event-stream"]
        #expect(try ask("/x.json", stream + nearAnn) == 200)
        #expect(try ask("/x.json", stream + ann) == 429)
        #expect(try ask("/x.json", ann) == 200)
        let upgrade = [
            "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]
        // Also if the connection moves to the loop of an earlier session.
        for loop in ["A", "B"] {
            let last = "ls=\(loop)AAAAAAAAAAAAAAAAAAAAAAA"
            #expect(try ask("/.ws?v=5&\(last)", upgrade + ann) == 429, "\(loop)")
            #expect(try ask("/.lp?start=t&\(last)", nearAnn) == 429, "\(loop)")
        }
        #expect(try ask("/.ws", upgrade + ann) == 429)
        #expect(try ask("/.ws", upgrade + bob) == 101)
        #expect(try ask("/.ws", upgrade + bob) == 429)
        // An end makes room.
        clients[3].hangUp()
        try blockUntil("the room of the WebSocket that has ended") { try ask("/.ws", upgrade + ann) != 429 }
    }

    @Test("a client may end while another one of the same address begins")
    func endings() throws {
        let clients = Clients(behind: TrustedProxies(), exemptsLoopback: true)
        let address = SocketAddress(numeric: "192.0.2.1", port: 7)
        let threads = try (0..<3).map { number in
            try NamedThread(name: "clients-\(number)") {
                for _ in 0..<30_000 { _ = clients.client(at: address) }
            }
        }
        for thread in threads { thread.join() }
        #expect(clients.count == 0)
    }

    @Test("clients are told apart by IPv4 address or IPv6 network, and forgotten when they are gone")
    func clients() throws {
        let clients = Clients(behind: TrustedProxies("10.0.0.0/8")!, exemptsLoopback: true)
        let number: UInt64
        func client(_ text: String) -> Client { clients.client(at: SocketAddress(numeric: text, port: 7)) }
        do {
            let a = client("2001:db8:0:1::1")
            #expect(a === client("2001:db8:0:1:ffff::9"))
            #expect(a !== client("2001:db8:0:2::1"))
            let b = client("192.0.2.1")
            #expect(b === client("::ffff:192.0.2.1"))
            #expect(b !== client("192.0.2.2"))
            #expect(a.number != b.number)
            number = b.number
            #expect(!a.isExempt)
            #expect(client("127.0.0.1").isExempt)
            #expect(client("::1").isExempt)
            let proxy = SocketAddress(numeric: "10.1.1.1", port: 1)
            #expect(clients.client(proxy, forwardedFor: Array("192.0.2.1".utf8)) === b)
            #expect(clients.client(SocketAddress(numeric: "192.0.2.1", port: 2), forwardedFor: [0x31]) === b)
        }
        #expect(clients.count == 0)
        // Who comes back is the same to limits that outlive connections.
        #expect(client("192.0.2.1").number == number)
    }
}
