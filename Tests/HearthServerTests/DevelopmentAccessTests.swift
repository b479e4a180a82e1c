import HearthEventLoop
import HearthHTTPCodec
import HearthServerLog
import HearthSystem
import HearthTestSupport
import Testing

@testable import HearthServer
@testable import HearthAccess
@testable import HearthAccountEndpoints

@Suite("Development mode trusts this machine")
struct DevelopmentAccessTests {
    /// The answer of a server in development mode to a GET with these fields.
    private static func isTaken(
        host: String = "127.0.0.1:9000", _ fields: [String], method: String = "GET",
        by access: DevelopmentAccess = DevelopmentAccess()
    ) throws -> Bool {
        let head = try RESTRequests.head("\(method) /a.json", fields, host: host)
        do throws(DevelopmentAccess.Refusal) {
            try access.check(head)
            return true
        } catch {
            return false
        }
    }

    @Test(
        "a foreign name for this machine is refused, which is how DNS rebinding comes in",
        arguments: [
            ("127.0.0.1:9000", true), ("127.1.2.3", true), ("localhost:1", true), ("LOCALHOST", true),
            ("localhost.", true), ("example.hearth.localhost:9000", true), ("[::1]:9000", true),
            ("10.0.2.2:9000", true),
            ("evil.example", false), ("127.0.0.1.evil.example", false), ("localhost.evil.example", false),
            ("evillocalhost", false), ("127.0.0.256", false), ("192.168.1.2", false), ("[::2]:9000", false),
            ("0.0.0.0:9000", false),
        ])
    func hosts(host: String, isTaken: Bool) throws {
        #expect(try Self.isTaken(host: host, []) == isTaken)
    }

    @Test(
        "pages of this machine are trusted, on any port and by any of its names; others are not",
        arguments: [
            ("http://localhost:3000", true), ("http://127.0.0.1", true), ("https://app.localhost:8443", true),
            ("http://[::1]:3000", true), ("capacitor://localhost", true), ("https://evil.example", false),
            ("http://localhost.evil.example", false), ("http://10.0.2.2:3000", false), ("null", false), ("", false),
            ("http://evil.example@localhost", false), ("chrome-extension://abc", false),
        ])
    func origins(origin: String, isTaken: Bool) throws {
        #expect(try Self.isTaken(["Origin: \(origin)"]) == isTaken)
        #expect(try Self.isTaken(["Origin: \(origin)"], method: "OPTIONS") == isTaken)
    }

    @Test("a page of the machine that the request names is trusted: an app in the Android emulator")
    func sameHost() throws {
        #expect(try Self.isTaken(host: "10.0.2.2:9000", ["Origin: http://10.0.2.2:3000"]))
        #expect(try !Self.isTaken(host: "10.0.2.2:9000", ["Origin: http://10.0.2.3:3000"]))
    }

    @Test(
        "script tags have no origin, but tell where they stand",
        arguments: [
            (["Sec-Fetch-Site: cross-site", "Referer: http://localhost:3000/page"], true),
            (["Sec-Fetch-Site: cross-site", "Referer: https://evil.example/"], false),
            (["Sec-Fetch-Site: cross-site"], false), (["Referer: https://evil.example/"], false),
            (["Referer: http://127.0.0.1:9000/x"], true), (["Sec-Fetch-Site: same-origin"], true),
            (["Sec-Fetch-Site: same-site"], true), (["Sec-Fetch-Site: none"], true),
            // Somebody follows a link, as in a mail; no page sees the answer. A frame is not that.
            (["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"], true),
            (["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"], false),
        ])
    func scripts(fields: [String], isTaken: Bool) throws {
        #expect(try Self.isTaken(fields) == isTaken)
    }

    @Test("a form that a foreign page posts is refused, though somebody opens the answer")
    func forms() throws {
        let opened = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
        #expect(try !Self.isTaken(opened, method: "POST"))
    }

    @Test("options name further hosts and origins")
    func options() throws {
        let access = try #require(
            DevelopmentAccess(
                hosts: "hearth.test, *.dev.test", origins: "app.test,https://web.test:8443,x.test:81,null"))
        for (host, isTaken) in [
            ("hearth.test:9000", true), ("HEARTH.test", true), ("a.b.dev.test", true), ("dev.test", false),
            ("a.hearth.test", false), ("localhost", true),
        ] {
            #expect(try Self.isTaken(host: host, [], by: access) == isTaken, "\(host)")
        }
        for (origin, isTaken) in [
            ("http://app.test:3000", true), ("https://app.test", true), ("https://web.test:8443", true),
            ("http://web.test:8443", false), ("https://web.test", false), ("http://x.test:81", true),
            ("http://x.test", false), ("null", true), ("http://b.app.test", false),
        ] {
            #expect(try Self.isTaken(["Origin: \(origin)"], by: access) == isTaken, "\(origin)")
        }
        // A page of a named host may use the server by that name.
        #expect(try Self.isTaken(host: "hearth.test:9000", ["Origin: http://hearth.test:3000"], by: access))
        let sibling = ["Sec-Fetch-Site: same-site", "Referer: http://other.test/"]
        #expect(try !Self.isTaken(host: "hearth.test", sibling, by: access))
        for bad in ["*", "a b", ".test", "http://x", "*."] {
            #expect(DevelopmentAccess(hosts: bad, origins: "") == nil, "\(bad)")
        }
        for bad in ["*", "https://", "a:b", "https://*"] {
            #expect(DevelopmentAccess(hosts: "", origins: bad) == nil, "\(bad)")
        }
    }

    // MARK: On a server

    private static let evil = "Origin: https://evil.example"
    private static let asksForPrivate = "Access-Control-Request-Private-Network: true"

    @Test("no page of this machine is told that pages of the internet may come, at any kind of place")
    func privateNetwork() throws {
        let server = try RealtimeTestServer { $0.identity = .init() }
        for target in [
            "/a.json", "/.lp?start=t&cb=1", "/v1/accounts:signUp?key=x", "/.settings/rules.json", "/nowhere",
        ] {
            for origin in ["http://localhost:3000", "http://127.0.0.1", "https://app.localhost"] {
                for method in ["OPTIONS", "GET"] {
                    let answer = try server.connectREST().ask(
                        method, target, ["Origin: \(origin)", Self.asksForPrivate])
                    #expect(answer.status != 403 || target.hasPrefix("/.settings"), "\(method) \(target)")
                    #expect(answer.field("access-control-allow-private-network") == nil, "\(method) \(target)")
                }
            }
        }
    }

    @Test("every kind of request of a foreign page is refused, with a message that names the option")
    func everyRequest() throws {
        let server = try RealtimeTestServer { $0.identity = .init() }
        for (method, target) in [
            ("GET", "/.json?auth=owner"), ("PUT", "/a.json"), ("OPTIONS", "/a.json"), ("GET", "/.settings/rules.json"),
            ("GET", "/.lp?start=t&cb=1"), ("GET", "/.json?callback=f"), ("GET", "/healthz"),
            ("POST", "/v1/accounts:signUp?key=x"), ("GET", "/.inspect/databases.json"), ("GET", "/nowhere"),
        ] {
            for fields in [
                [Self.evil, Self.asksForPrivate], ["Sec-Fetch-Site: cross-site", "Referer: https://evil.example/"],
            ] {
                let answer = try server.connectREST().ask(method, target, fields, body: method == "PUT" ? [0x31] : nil)
                #expect(answer.status == 403, "\(method) \(target)")
                #expect(answer.field("access-control-allow-origin") == nil)
                #expect(answer.field("access-control-allow-private-network") == nil, "\(method) \(target)")
                if method != "HEAD" { #expect(answer.text.contains("--dev-origins"), "\(answer.text)") }
            }
            let client = try server.connectREST()
            try client.send("\(method) \(target) HTTP/1.1\r\nHost: evil.example:\(server.port)\r\n\r\n")
            let rebound = try client.receive()
            #expect(rebound.status == 403)
            #expect(rebound.text.contains("--dev-hosts"))
        }
        let stream = try server.connectREST().ask("GET", "/a.json", [Self.evil, "Accept: text/event-stream"])
        #expect(stream.status == 403)
        #expect(try server.connectREST().ask("GET", "/a.json").text == "null")
    }

    @Test("a WebSocket of a foreign page is refused, and one of a local page is not")
    func webSockets() throws {
        let server = try RealtimeTestServer()
        let request = RealtimePeer.request(host: server.host, target: "/.ws?v=5").dropLast()
        for (origin, status) in [("https://evil.example", 403), ("null", 403), ("http://localhost:3000", 101)] {
            let client = try server.connectREST()
            try client.send("\(request)Origin: \(origin)\r\n\r\n")
            #expect(
                try String(decoding: client.receiveSome(), as: UTF8.self).hasPrefix("HTTP/1.1 \(status) "), "\(origin)")
        }
        let foreign = RealtimePeer.request(host: "evil.example", target: "/.ws?v=5")
        let client = try server.connectREST()
        try client.send(foreign)
        #expect(try client.receive().status == 403)
    }

    @Test("a page that may read the answer is named in it, and only a named page may come from the internet")
    func permissions() throws {
        let server = try RealtimeTestServer {
            $0.developmentAccess = DevelopmentAccess(hosts: "", origins: "https://app.test")!
        }
        for (origin, isNamed) in [("http://localhost:3000", false), ("https://app.test", true)] {
            let answer = try server.connectREST().ask("GET", "/a.json", ["Origin: \(origin)"])
            #expect(answer.field("access-control-allow-origin") == origin)
            #expect(answer.field("vary") == "Origin")
            let preflight = try server.connectREST().ask(
                "OPTIONS", "/a.json", ["Origin: \(origin)", Self.asksForPrivate])
            #expect(preflight.status == 204)
            #expect(preflight.field("access-control-allow-origin") == origin)
            #expect((preflight.field("access-control-allow-private-network") == "true") == isNamed)
        }
    }

    @Test("production looks at credentials and rules alone")
    func production() throws {
        let (server, _) = try AccessTests.server { $0.isDevelopment = false }
        let answer = try server.connectREST().ask(
            "OPTIONS", "/a.json", [Self.evil, Self.asksForPrivate])
        #expect(answer.status == 204)
        #expect(answer.field("access-control-allow-origin") == "*")
        #expect(answer.field("access-control-allow-private-network") == "true")
    }

    // MARK: Its data

    @Test("production does not take a data folder of development mode, unless it is told to")
    func data() throws {
        let folder = TemporaryFolder()
        let rules = folder.path + "/my.json"
        try PrivateFile.replace(rules, with: Array(#"{"rules":{}}"#.utf8))
        func start(isDevelopment: Bool, adopts: Bool = false) throws {
            var configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: folder.path + "/data")
            configuration.isDevelopment = isDevelopment
            configuration.rulesFile = rules
            configuration.adoptsDevelopmentData = adopts
            configuration.logLevel = .error
            try Server(configuration).stop()
        }
        try start(isDevelopment: false)
        try start(isDevelopment: true)
        let error = try #require(throws: Server.StartError.self) { try start(isDevelopment: false) }
        #expect(error.message.contains("--adopt-dev-data"), "\(error.message)")
        try start(isDevelopment: false, adopts: true)
        try start(isDevelopment: false)
    }
}
