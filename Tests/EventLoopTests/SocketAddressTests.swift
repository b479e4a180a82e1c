import HearthEventLoop
import Testing

@Suite("A socket address")
struct SocketAddressTests {
    @Test(
        "reads and writes numeric addresses",
        arguments: [
            ("127.0.0.1", "127.0.0.1:80"), ("0.0.0.0", "0.0.0.0:80"), ("::1", "[::1]:80"),
            ("2001:db8::8:800:200c:417a", "[2001:db8::8:800:200c:417a]:80"),
        ])
    func text(host: String, description: String) throws {
        let address = try #require(SocketAddress(numeric: host, port: 80))
        #expect(address.description == description)
        #expect(address.host == host)
        #expect(address == SocketAddress(numeric: host, port: 80))
        #expect(address != SocketAddress(numeric: host, port: 81))
    }

    @Test(
        "is not made of anything else",
        arguments: ["", "localhost", "1.2.3", "1.2.3.256", "[::1]", "::1%", "1.2.3.4:5"])
    func invalid(host: String) { #expect(SocketAddress(numeric: host, port: 80) == nil) }

    @Test(
        "is read together with its port",
        arguments: [
            ("localhost:80", "127.0.0.1:80"), ("127.0.0.1:0", "127.0.0.1:0"), (":9000", "0.0.0.0:9000"),
            ("[::1]:65535", "[::1]:65535"),
        ])
    func hostAndPort(text: String, description: String) {
        #expect(SocketAddress(hostAndPort: text)?.description == description)
    }

    @Test(
        "is not read from anything else",
        arguments: [
            "", "80", "example.org:80", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:-1", "1.2.3.4:+1", "::1:80", "[]:1",
            "[1.2.3.4]:80",
        ])
    func invalidHostAndPort(text: String) { #expect(SocketAddress(hostAndPort: text) == nil) }

    @Test("is found by name")
    func resolve() throws {
        let loopback = ["127.0.0.1", "::1"]
        let found = try SocketAddress.resolve(host: "localhost", port: 99)
        #expect(!found.isEmpty)
        #expect(found.allSatisfy { loopback.contains($0.host) && $0.port == 99 })
        let error = #expect(throws: NameNotFound.self) { try SocketAddress.resolve(host: "no such name", port: 1) }
        #expect(error?.text.hasPrefix("no such name: ") == true)
    }
}
