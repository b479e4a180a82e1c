import HearthDatabaseHost
import HearthEventLoop
import HearthHTTPCodec
import HearthJSONTree
import HearthJSONValues
import HearthTestSupport
import Testing

@testable import HearthServer
@testable import HearthAccountEndpoints

@Suite("Which databases there are in production") struct DatabaseNameTests {
    private static let unknown =
        "Firebase error. Please ensure that you have the URL of your Firebase Realtime Database instance configured "
        + "correctly."

    private final class Production {
        let server: RealtimeTestServer
        private let folder = TemporaryFolder()
        /// Of an administrator.
        let token: String

        init(_ configure: (inout ServerConfiguration) -> Void = { _ in }) throws {
            let rules = folder.path + "/rules.json"
            TemporaryFolder.write(Array(#"{"rules":{".read":true,".write":true}}"#.utf8), to: rules)
            var dataFolder = ""
            server = try RealtimeTestServer {
                $0.isDevelopment = false
                $0.adminAddress = .loopback(port: 0)
                $0.rulesFile = rules
                dataFolder = $0.dataFolder
                $0.identity = IdentityConfiguration()
                configure(&$0)
            }
            let key = try AdministratorKey(folder: dataFolder)
            let form =
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(try key.assertion())"
            let type = ["Content-Type: application/x-www-form-urlencoded"]
            let answer = try server.connectAdminREST().ask("POST", "/token", type, form)
            token = try #require(try JSONValue(parsing: answer.body).object?["access_token"]?.text)
        }
    }

    @Test("a request to a database that does not exist is answered as by Firebase, and leaves nothing behind")
    func unknownDatabase() throws {
        let production = try Production()
        let server = production.server
        let client = try server.connectREST()
        for (method, body) in [("GET", nil), ("PUT", "1"), ("PUT", String(repeating: " ", count: 10_000) + "1")] {
            let answer = try client.ask(method, "/x.json?ns=junk", [], body: body.map { Array($0.utf8) })
            #expect(answer.status == 404)
            #expect(answer.text == "{\n  \"error\" : \"\(Self.unknown)\"\n}\n")
            if (body?.utf8.count ?? 0) > 4096 { break }
        }
        let peer = try server.connect("/.ws?v=5&ns=junk")
        #expect(try peer.receiveMessage() == #"{"t":"c","d":{"t":"s","d":"\#(Self.unknown)"}}"#)
        #expect(try peer.receive() == .close(1000, reason: "there is no such database"))
        let script = try server.connectREST().ask("GET", "/.lp?start=t&ns=junk&cb=7").text
        #expect(script.hasSuffix(#"pRTLPCB(0,[{"t":"c","d":{"t":"s","d":"\#(Self.unknown)"}}]);"# + "\n"))
        #expect(script.hasPrefix("function pLPCommand("))
        #expect(try server.connectREST().ask("PUT", "/x.json", [], "1").status == 200)
        let names = try server.connectAdminREST().ask(
            "GET", "/.inspect/databases.json", ["Authorization: Bearer \(production.token)"])
        #expect(names.text == #"[{"name":"default"}]"#)
    }

    @Test("names that nobody knows never keep anybody from a database that exists")
    func exhaustion() throws {
        let production = try Production {
            $0.databaseNames.names = ["tenantA"]
            $0.databaseNames.unwrittenMax = 2
            $0.databaseNames.writtenMax = 1
        }
        let server = production.server
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/x.json?ns=tenantA", [], "1").status == 200)
        let junk = try (0..<5).map { try server.connect("/.ws?v=5&ns=junk\($0)") }
        for number in 0..<5 {
            #expect(try client.ask("GET", "/.lp?start=t&ns=junk\(number)").status == 200)
            #expect(try client.ask("GET", "/x.json?ns=junk\(number)").status == 404)
        }
        #expect(try client.ask("GET", "/x.json?ns=tenantA").text == "1")
        #expect(
            try server.connect("/.ws?v=5&ns=tenantA").receiveMessage()?.hasPrefix(#"{"t":"c","d":{"t":"h""#) == true)
        withExtendedLifetime(junk) {}
    }

    @Test("an administrator's first write makes a database, and from then on it is everybody's")
    func creation() throws {
        let production = try Production()
        let server = production.server
        let client = try server.connectREST()
        let administrator = ["Authorization: Bearer \(production.token)"]
        #expect(try client.ask("GET", "/x.json?ns=shop", administrator).text == "null")
        #expect(try client.ask("GET", "/x.json?ns=shop").status == 404)
        #expect(try client.ask("PUT", "/x.json?ns=shop", administrator, "5").text == "5")
        #expect(try client.ask("GET", "/x.json?ns=shop").text == "5")
        // Rules of its own make one, too.
        let admin = try server.connectAdminREST()
        let rules = #"{"rules":{".read":true,".write":"auth != null"}}"#
        #expect(try client.ask("GET", "/x.json?ns=club").status == 404)
        #expect(try admin.ask("PUT", "/.settings/rules.json?ns=club", administrator, rules).status == 200)
        #expect(try client.ask("GET", "/x.json?ns=club").text == "null")
        #expect(try client.ask("PUT", "/x.json?ns=club", [], "1").status == 401)
    }

    @Test("a session where administrators are answered opens any database, and only an administrator's write makes it")
    func adminSession() throws {
        let production = try Production()
        let server = production.server
        let peer = try server.connectAdmin("/.ws?v=5&ns=new")
        #expect(try peer.receiveMessage()?.hasPrefix(#"{"t":"c","d":{"t":"h""#) == true)
        try peer.send(1, "p", #"{"p":"a","d":1}"#)
        let text = "there is no such database: the first write of an administrator makes it, or --databases names it"
        #expect(try peer.receiveMessage() == RealtimePeer.response(1, "permission_denied", "\"\(text)\""))
        try peer.send(2, "gauth", #"{"cred":"\#(production.token)"}"#)
        #expect(try peer.receiveMessage()?.contains(#""s":"ok""#) == true)
        try peer.send(3, "p", #"{"p":"a","d":1}"#)
        #expect(try peer.receiveMessage() == RealtimePeer.response(3))
        #expect(try server.connectREST().ask("GET", "/a.json?ns=new").text == "1")
    }

    @Test("new databases can be for all")
    func openToAll() throws {
        let server = try Production { $0.databaseNames.creation = .byEverybody }.server
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/x.json?ns=new", [], "1").status == 200)
        #expect(try client.ask("GET", "/x.json?ns=other").text == "null")
    }
}
