import HearthServerSupport
import HearthJSONTree
import Testing
@testable import HearthClientSession

@Suite("URLs of databases")
struct DatabaseURLTests {
    @Test(
        "host, port, TLS and database (Protocol.md 2.2)",
        arguments: [
            ("ws://127.0.0.1:9000", "127.0.0.1", 9000, false, ""),
            ("ws://127.0.0.1:9000/", "127.0.0.1", 9000, false, ""),
            ("ws://localhost:9000/?ns=my-db", "localhost", 9000, false, "my-db"),
            ("http://localhost:9000?ns=my-db", "localhost", 9000, false, "my-db"),
            ("https://db.example.com:8443", "db.example.com", 8443, true, "db"),
            ("wss://db.example.com:8443/?ns=other", "db.example.com", 8443, true, "other"),
            ("ws://[::1]:9000/?ns=x", "::1", 9000, false, "x"),
            ("WS://Db.Example.com:9000", "Db.Example.com", 9000, false, "db"),
            // Without a port it is TLS, whatever the scheme.
            ("https://myns.firebaseio.com", "myns.firebaseio.com", 443, true, "myns"),
            ("http://myns.firebaseio.com/", "myns.firebaseio.com", 443, true, "myns"),
            ("ws://example.com", "example.com", 443, true, ""), ("wss://[::1]", "::1", 443, true, ""),
            // An empty name counts as missing; other parameters do not matter.
            ("ws://a.b.c:1/?ns=", "a.b.c", 1, false, "a"), ("ws://h:1/?x=1&ns=a%2Db&y", "h", 1, false, "a-b"),
            ("ws://10.0.0.1:65535", "10.0.0.1", 65535, false, ""),
        ] as [(String, String, UInt16, Bool, String)])
    func parts(text: String, host: String, port: UInt16, usesTLS: Bool, database: String) throws {
        let url = try DatabaseURL(text)
        #expect(url.host == host)
        #expect(url.port == port)
        #expect(url.usesTLS == usesTLS)
        #expect(url.database == database)
        #expect(url.path.isRoot)
    }

    @Test("a place in the database")
    func places() throws {
        #expect(try DatabaseURL("ws://h:1/a/b%20c/?ns=x").path == path("a/b c"))
        #expect(try DatabaseURL("ws://h:1//a//b").path == path("a/b"))
        #expect(try DatabaseURL("https://myns.firebaseio.com/rooms").path == path("rooms"))
    }

    @Test("bytes on the wire")
    func wire() throws {
        let url = try DatabaseURL("ws://h:9000/a?ns=my%20db%26x")
        #expect(url.authority == "h:9000")
        #expect(url.description == "ws://h:9000")
        #expect(url.target(lastSession: nil) == "/.ws?v=5&ns=my%20db%26x")
        #expect(url.target(lastSession: Array("s-1/\n".utf8)) == "/.ws?v=5&ns=my%20db%26x&ls=s-1%2F%0A")
        #expect(try DatabaseURL("wss://[::1]").authority == "[::1]")
        #expect(try DatabaseURL("wss://[::1]:1").authority == "[::1]:1")
        #expect(try DatabaseURL("wss://example.com").description == "wss://example.com")
        #expect(try DatabaseURL("ws://h:443").authority == "h:443")
        #expect(try DatabaseURL("ws://127.0.0.1:1").target(lastSession: nil) == "/.ws?v=5")
    }

    @Test(
        "what is not a URL of a database",
        arguments: [
            (
                "a database URL begins with ws://, wss://, http:// or https://",
                ["", "h:9000", "//h:9000", "ftp://h:9000", "ws:/h"]
            ),
            ("the host is missing", ["ws://", "ws:///a", "ws://:9000", "ws://[]:1"]),
            ("'' is not a port", ["ws://h:"]),
            ("'0' is not a port", ["ws://h:0"]),
            ("'65536' is not a port", ["ws://h:65536"]),
            ("'+1' is not a port", ["ws://h:+1"]),
            ("'9x' is not a port", ["ws://h:9x"]),
            ("'1:2' is not a port", ["ws://h:1:2"]),
            ("a URL has no user name", ["ws://user@h:1", "ws://u:p@h:1"]),
            ("a ] is missing", ["ws://[::1"]),
            ("a port follows a colon", ["ws://[::1]x"]),
            ("a URL has no fragment", ["ws://h:1/#x"]),
            ("a URL has no white space", ["ws://h :1", "ws://h:1/a b", "ws://h:1\n"]),
            ("the path of the URL is invalid: a % without two hexadecimal digits", ["ws://h:1/%zz"]),
            (
                "the path of the URL is invalid: a key contains one of . $ # [ ] / or a control character",
                ["ws://h:1/a$", "ws://h:1/a%2Fb"]
            ),
        ])
    func refused(reason: String, texts: [String]) {
        for text in texts {
            let error = #expect(throws: DatabaseURLError.self, "\(text)") { try DatabaseURL(text) }
            #expect(error?.reason == reason, "\(text)")
        }
    }
}
