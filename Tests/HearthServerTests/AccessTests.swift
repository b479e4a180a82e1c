import HearthBytes
import HearthEventLoop
import Glibc
import HearthServer
import HearthIdentity
import HearthJSONTree
import HearthJSONValues
import HearthTestSupport
import Testing

@Suite("Who may do what") struct AccessTests {
    static let rules = """
        {"rules": {
          "public": {".read": true},
          "private": {"$uid": {".read": "$uid === auth.uid", ".write": "$uid === auth.uid"}},
          "rooms": {"$room": {".read": "data.child('open').val() === true", ".indexOn": "n"}},
        }}
        """

    /// A token as test tools make them: not signed.
    private static func token(_ uid: String) -> String {
        func encoded(_ text: String) -> String { String(decoding: Base64.url.encode(Array(text.utf8)), as: UTF8.self) }
        return encoded(#"{"alg":"none"}"#) + "." + encoded(#"{"sub":"\#(uid)","role":{"x.y":["admin"]}}"#) + "."
    }

    static func server(
        _ rules: String = Self.rules, _ configure: (inout ServerConfiguration) -> Void = { _ in }
    ) throws -> (server: RealtimeTestServer, folder: TemporaryFolder) {
        let folder = TemporaryFolder()
        try write(rules, to: folder)
        let server = try RealtimeTestServer {
            $0.rulesFile = folder.path + "/rules.json"
            configure(&$0)
        }
        return (server, folder)
    }

    /// Replaces the rules file as editors do.
    private static func write(_ rules: String, to folder: TemporaryFolder) throws {
        let file = folder.path + "/rules.json"
        let descriptor = open(file + ".tmp", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        try #require(Array(rules.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } > 0)
        close(descriptor)
        try #require(rename(file + ".tmp", file) == 0)
    }

    @Test("a session may do what its user may, from the answer to its sign-in on (Protocol.md 19)")
    func session() throws {
        let (server, _) = try Self.server()
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        let denied = #""s":"permission_denied","d":"Permission denied"#
        try peer.send(1, "p", #"{"p":"private/a/x","d":1}"#)
        #expect(try peer.receiveMessage()?.contains(denied) == true)
        // What follows a sign-in is not sent before it is answered by careful clients, but by the JavaScript SDK.
        try peer.send(2, "auth", #"{"cred":"\#(Self.token("a"))"}"#)
        try peer.send(3, "p", #"{"p":"private/a/x","d":1}"#)
        try peer.send(4, "q", #"{"p":"private/a","h":""}"#)
        let claims = #"{"sub":"a","role":{"x.y":["admin"]}}"#
        let user = #"{"auth":{"uid":"a","token":\#(claims)},"expires":null}"#
        #expect(try peer.receiveMessage() == RealtimePeer.response(2, "ok", user))
        #expect(try peer.receiveMessage() == RealtimePeer.response(3))
        #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"private/a","d":{"x":1}}}}"#)
        #expect(try peer.receiveMessage() == RealtimePeer.response(4, "ok", "{}"))
        // The next user may not listen to what the first one did.
        try peer.send(5, "auth", #"{"cred":"\#(Self.token("b"))"}"#)
        #expect(try peer.receiveMessage()?.contains(#""uid":"b""#) == true)
        #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"c","b":{"p":"private/a"}}}"#)
        try peer.send(6, "g", #"{"p":"private/a"}"#)
        #expect(try peer.receiveMessage()?.contains(denied) == true)
        try peer.send(7, "unauth", "{}")
        #expect(try peer.receiveMessage() == RealtimePeer.response(7, "ok", #""unauthenticated""#))
        try peer.send(8, "auth", #"{"cred":"nonsense"}"#)
        #expect(try peer.receiveMessage()?.contains(#""s":"invalid_token""#) == true)
    }

    @Test("an administrator may do everything, or act as somebody")
    func administrator() throws {
        let (server, _) = try Self.server()
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        for (number, acting, mayWrite) in [
            (1, "", true), (3, #","authvar":{"uid":"a"}"#, true), (5, #","authvar":{"uid":"b"}"#, false),
            (7, #","noauth":true"#, false), (9, #","authvar":null"#, false),
        ] {
            try peer.send(number, "gauth", #"{"cred":"owner"\#(acting)}"#)
            #expect(try peer.receiveMessage()?.contains(#""s":"ok""#) == true)
            try peer.send(number + 1, "p", #"{"p":"private/a/x","d":\#(number)}"#)
            #expect(
                try peer.receiveMessage()?.contains(mayWrite ? #""s":"ok""# : "permission_denied") == true, "\(acting)")
        }
    }

    @Test("a query that may not be read any more ends with the words that it began with")
    func queryRevoked() throws {
        let (server, _) = try Self.server()
        let client = try server.connectREST()
        try client.ask("PUT", "/rooms/r.json?ns=example", RESTClient.owner, #"{"open":true,"m":{"n":1}}"#)
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        let query = #"{"sp":1, "i":"n"}"#
        try peer.send(1, "q", #"{"p":"rooms/r","q":\#(query),"t":7,"h":""}"#)
        try peer.send(2, "ev", #"{"p":"rooms/r","t":8}"#)
        for _ in 0..<4 { _ = try peer.receiveMessage() }
        try client.ask("PUT", "/rooms/r/open.json?ns=example", RESTClient.owner, "false")
        let ends = [try peer.receiveMessage(), try peer.receiveMessage()].compactMap { $0 }.sorted()
        #expect(
            ends == [
                #"{"t":"d","d":{"a":"c","b":{"p":"rooms/r","q":[\#(query)]}}}"#,
                #"{"t":"d","d":{"a":"c","b":{"p":"rooms/r","t":8}}}"#,
            ])
    }

    @Test("REST asks the rules for the holder of the credential (rest.md 7)")
    func rest() throws {
        let (server, _) = try Self.server()
        let client = try server.connectREST()
        let (a, b) = ("auth=\(Self.token("a"))", "auth=\(Self.token("b"))")
        #expect(try client.ask("PUT", "/private/a.json?\(a)", [], "1").text == "1")
        for (method, target, fields, status) in [
            ("GET", "/private/a.json?\(a)", [], 200), ("GET", "/private/a.json?\(b)", [], 401),
            ("GET", "/private/a.json", [], 401), ("GET", "/public.json", [], 200),
            ("GET", "/private.json?shallow=true&\(a)", [], 401), ("GET", "/private.json", RESTClient.owner, 200),
            ("PUT", "/private/a.json?\(b)", [], 401), ("POST", "/private/a.json", [], 401),
            ("DELETE", "/private/a.json?auth_variable_override=%7B%22uid%22:%22b%22%7D", RESTClient.owner, 401),
            ("GET", "/private/a.json?auth_variable_override=%7B%22uid%22:%22a%22%7D", RESTClient.owner, 200),
            ("GET", "/private/a.json?auth_variable_override=null", RESTClient.owner, 401),
            ("GET", "/public.json?auth_variable_override=7", RESTClient.owner, 401),
        ] as [(String, String, [String], Int)] {
            let body = method == "GET" || method == "DELETE" ? "" : "2"
            #expect(try client.ask(method, target, fields, body).status == status, "\(method) \(target)")
        }
        #expect(try client.ask("GET", "/private/a.json?\(a)").text == "1")
        // What precondition does not hold is told to those who may read.
        let stale = try client.ask("PUT", "/private/a.json?\(b)", ["if-match: x"], "3")
        #expect(stale.status == 401)
        #expect(stale.field("etag") == nil)
    }

    @Test("a stranger's write leaves no database behind", .timeLimit(.minutes(15)))
    func noDatabases() throws {
        let (server, _) = try Self.server()
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/x.json?ns=mine", [], "1").status == 401)
        #expect(try client.ask("PATCH", "/.json?ns=mine", [], "{}").status == 200)
        // The database is let go after the answer. Were there files, it would never be.
        try blockUntil("the end of the database") {
            try client.ask("GET", "/.inspect/databases.json", RESTClient.owner).text == #"[{"name":"default"}]"#
        }
    }

    @Test("an event stream ends when its place may not be read any more (rest.md 4)")
    func eventStream() throws {
        let (server, _) = try Self.server()
        let client = try server.connectREST()
        try client.ask("PUT", "/rooms/r.json", RESTClient.owner, #"{"open":true}"#)
        let stream = try EventStreamClient("/rooms/r.json", of: server)
        #expect(try stream.nextLine() == #"put {"path":"/","data":{"open":true}}"#)
        try client.ask("PUT", "/rooms/r/m.json", RESTClient.owner, "1")
        #expect(try stream.nextLine() == #"put {"path":"/m","data":1}"#)
        try client.ask("PUT", "/rooms/r/open.json", RESTClient.owner, "false")
        #expect(try stream.nextLine() == "cancel null")
        #expect(try stream.nextLine() == nil)
        #expect(try client.ask("GET", "/rooms/r.json", ["Accept: text/event-stream"]).status == 401)
    }

    @Test("rules are read, replaced and tried over REST, by administrators (docs/rules.md 1)")
    func settings() throws {
        let (server, _) = try Self.server()
        let client = try server.connectREST()
        let target = "/.settings/rules.json"
        #expect(try client.ask("GET", target, RESTClient.owner).text == Self.rules)
        let text = "{\"rules\": {\".read\": true, // all\n},}"
        #expect(try client.ask("PUT", target + "?dryRun=true", RESTClient.owner, text).text == #"{"status":"ok"}"#)
        for (rules, isOpen) in [(text, true), (Self.rules, false)] {
            let warned = try client.ask("PUT", target + "?dryRun=true&warnings=true", RESTClient.owner, rules)
            #expect(warned.text == #"{"status":"ok","open":\#(isOpen)}"#)
        }
        #expect(try client.ask("GET", "/x.json").status == 401)
        #expect(try client.ask("PUT", target, RESTClient.owner, text).text == #"{"status":"ok"}"#)
        #expect(try client.ask("GET", "/x.json").status == 200)
        #expect(try client.ask("GET", "/x.json?ns=other").status == 401)
        #expect(try client.ask("GET", target, RESTClient.owner).text == text)
        #expect(try client.ask("GET", target + "?format=strict", RESTClient.owner).text == #"{"rules":{".read":true}}"#)
        let refused = try client.ask("PUT", target, RESTClient.owner, "{\"rules\": {\n\".read\": \"auth.\"}}")
        #expect(refused.status == 400)
        #expect(refused.text.hasPrefix("{\n  \"error\" : \"2:"))
        #expect(try client.ask("GET", "/x.json").status == 200)
        #expect(try client.ask("PUT", target, [], text).status == 401)
        #expect(try client.ask("GET", target, []).status == 401)
    }

    @Test("administrators are told what the rules say of somebody; what is no question is refused")
    func explanations() throws {
        let (server, _) = try Self.server()
        let client = try server.connectREST()
        func ask(_ body: String, _ fields: [String] = RESTClient.owner) throws -> RESTClient.Answer {
            try client.ask("POST", "/.settings/explain.json", fields, body)
        }
        let denied = try ask(#"{"operation":"write","path":"/private/a","value":1,"auth":{"uid":"b"}}"#)
        #expect(denied.status == 200)
        #expect(denied.text.hasPrefix(#"{"allowed":false,"lines":["rules:"#))
        #expect(denied.text.contains(#"auth.uid = \"b\""#))
        // For programs, each part with its value.
        #expect(denied.text.contains(#"{"text":"auth.uid","value":"\"b\""}"#), "\(denied.text)")
        #expect(denied.text.contains(#""outcome":false"#))
        #expect(denied.text.contains(#""kind":"."#))
        #expect(
            try ask(#"{"operation":"write","path":"/private/a","value":1,"auth":{"uid":"a"}}"#).text
                .hasPrefix(#"{"allowed":true"#))
        #expect(
            try ask(#"{"operation":"read","path":"nothing"}"#).text
                == #"{"allowed":false,"lines":["no rule stands on the way to the place"]}"#)
        let found = try ask(
            #"{"operation":"find","path":"/private","query":{"where":[["by","==","b"]]},"auth":{"uid":"b"}}"#)
        #expect(found.status == 200)
        #expect(found.text.hasPrefix(#"{"allowed":false"#))
        #expect(try ask(#"{"operation":"find","path":"/private"}"#).text.contains("the query is missing"))
        let invalid = try ask(#"{"operation":"find","path":"/private","query":{"limit":0}}"#)
        #expect(invalid.text.contains("invalid query: limit"), "\(invalid.text)")
        // It was not made, and no client was denied.
        #expect(try client.ask("GET", "/private/a.json", RESTClient.owner).text == "null")
        #expect(try client.ask("GET", "/.settings/denials.json", RESTClient.owner).text == "[]")
        for body in [
            "x", "[]", "{}", #"{"path":"/a"}"#, #"{"operation":"read","path":"/a.b"}"#,
            #"{"operation":"write","path":"/a"}"#, #"{"operation":"read","path":"/a","value":1}"#,
            #"{"operation":"write","path":"/a","value":{"a.b":1}}"#, #"{"operation":"read","path":"/","auth":"ann"}"#,
            #"{"operation":"read","path":"/a/.priority"}"#,
        ] {
            #expect(try ask(body).status == 400, "\(body)")
        }
        #expect(try ask(#"{"operation":"read","path":"/"}"#, []).status == 401)
        #expect(try client.ask("GET", "/.settings/explain.json", RESTClient.owner).status == 405)
    }

    @Test("a test file is run on rules in force or others, and what its cases never looked at is told")
    func testFiles() throws {
        let (server, _) = try Self.server()
        let client = try server.connectREST()
        _ = try client.ask(
            "PUT", "/.settings/rules.json", RESTClient.owner, #"{"rules":{"$u":{".read":"auth.uid == $u"}}}"#)
        let tests = """
            {"data": {"ann": {"items": {"a": 1}}}, "tests": [
              {"as": "ann", "read": "/ann", "allowed": true},
              {"as": "ann", "write": "/ann/items/b", "value": 2, "allowed": true}]}
            """
        func ask(_ body: JSONObject, _ fields: [String] = RESTClient.owner) throws -> RESTClient.Answer {
            try client.ask("POST", "/.settings/test.json", fields, String(decoding: body.bytes, as: UTF8.self))
        }
        let inForce = try ask(JSONObject(["tests": .text(tests)])).text
        #expect(
            inForce.hasPrefix(#"{"passed":1,"failed":[{"name":"\"ann\": write \"/ann/items/b\"","line":3,"#),
            "\(inForce)")
        #expect(
            inForce.hasSuffix(
                #""seen":1,"outcomes":2,"conditions":[{"kind":".read","rule":"/$u","line":1,"column":26,"#
                    + #""text":"auth.uid == $u","true":1,"false":0,"errors":0,"missing":"never false"}]}"#),
            "\(inForce)")
        let rules = #"{"rules":{".read":true,"$u":{".write":"auth.uid == $u"}}}"#
        let draft = try ask(JSONObject(["tests": .text(tests), "rules": .text(rules)])).text
        #expect(draft.hasPrefix(#"{"passed":2,"failed":[],"seen":2,"outcomes":3,"#), "\(draft)")
        // The settings in force decide too.
        let settings = #"{"settings":{"$u":{"items":{".maxChildren":1}}}}"#
        _ = try client.ask("PUT", "/.settings/settings.json", RESTClient.owner, settings)
        let refused = try ask(JSONObject(["tests": .text(tests), "rules": .text(rules)])).text
        #expect(refused.contains("may not have more than 1 children"), "\(refused)")
        let others = JSONObject(["tests": .text(tests), "rules": .text(rules), "settings": .text("{\"settings\":{}}")])
        #expect(try ask(others).text.hasPrefix(#"{"passed":2,"failed":[],"#))
        // Nothing is kept or written.
        #expect(try client.ask("GET", "/ann.json", RESTClient.owner).text == "null")
        #expect(!(try client.ask("GET", "/.settings/rules.json", RESTClient.owner).text.contains("write")))
        let mistakes: [([(String, JSONValue?)], String)] = [
            ([], "tests is missing"), ([("tests", .integer(1))], "tests is missing"),
            ([("tests", .text("{\n}"))], "tests:1:1: 'tests' is missing"),
            ([("tests", .text(tests)), ("rules", .text("{}"))], "rules:1:"),
            ([("tests", .text(tests)), ("rules", .integer(1))], "rules is the text of a file of rules"),
            ([("tests", .text(tests)), ("settings", .text("{\"settings\":1}"))], "settings:1:13: "),
        ]
        for (members, message) in mistakes {
            var body = JSONObject([:])
            for (name, value) in members { body[name] = value }
            let answer = try ask(body)
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.text.contains(message), "\(answer.text)")
        }
        #expect(try ask(JSONObject(["tests": .text(tests)]), []).status == 401)
        #expect(try client.ask("GET", "/.settings/test.json", RESTClient.owner).field("allow") == "POST")
    }

    @Test("what was denied, and why, is kept for administrators")
    func denials() throws {
        let (server, _) = try Self.server()
        let client = try server.connectREST()
        _ = try client.ask("PUT", "/private/a.json?auth=\(Self.token("b"))", [], "1")
        _ = try client.ask("GET", "/nothing.json")
        let list = try client.ask("GET", "/.settings/denials.json", RESTClient.owner).text
        #expect(list.contains(#""operation":"read","path":"/nothing""#))
        #expect(list.contains(#""why":"no rule stands on the way to the place""#))
        #expect(list.contains(#""operation":"write","path":"/private/a""#))
        #expect(list.contains(#""uid":"b""#))
        #expect(list.contains(#"asked for /private/a, is false ($uid === auth.uid, "#))
    }

    @Test("the rules file is read again when it changes; one with a mistake changes nothing")
    func reload() throws {
        let (server, folder) = try Self.server()
        let client = try server.connectREST()
        let stream = try EventStreamClient("/public.json", of: server)
        #expect(try stream.nextLine() == #"put {"path":"/","data":null}"#)
        try Self.write(#"{"rules": {".read": "nonsense"}}"#, to: folder)
        try Self.write(#"{"rules": {"other": {".read": true}}}"#, to: folder)
        #expect(try stream.nextLine() == "cancel null")
        #expect(try client.ask("GET", "/other.json").status == 200)
    }

    @Test("a denial has the text that clients know, and in development mode the reason beside it")
    func reasons() throws {
        let denied = "{\n  \"error\" : \"Permission denied\"\n}\n"
        for isDevelopment in [true, false] {
            let (server, _) = try Self.server { $0.isDevelopment = isDevelopment }
            for (method, body) in [("GET", nil), ("PUT", "1"), ("DELETE", nil)] {
                let answer = try server.connectREST().ask(
                    method, "/private/a.json", [], body: body.map { Array($0.utf8) })
                #expect(answer.status == 401)
                #expect(answer.text == denied)
                let reason = answer.field("x-hearth-denial")
                #expect(
                    (reason?.contains("asked for /private/a, is false") ?? false) == isDevelopment, "\(reason ?? "")")
            }
            let peer = try server.connect()
            _ = try peer.receiveMessage()
            try peer.send(1, "g", #"{"p":"private/a"}"#)
            let answer = try #require(try peer.receiveMessage())
            #expect(answer.contains(#""s":"permission_denied","d":"Permission denied""#), "\(answer)")
            #expect(answer.contains(#","why":"rules:"#) == isDevelopment, "\(answer)")
        }
    }

    @Test("outside of development there must be rules, and open ones stay at home")
    func production() throws {
        let withoutRules = #expect(throws: Server.StartError.self) {
            try RealtimeTestServer { $0.isDevelopment = false }
        }
        let advice = "without rules nobody may do anything: add --dev to develop, or --rules FILE"
        #expect(withoutRules?.message == advice)
        let (server, _) = try Self.server { $0.isDevelopment = false }
        let client = try server.connectREST()
        let token = "auth=\(Self.token("a"))"
        // Neither unsigned tokens nor those that an emulator accepts.
        #expect(try client.ask("GET", "/public.json?\(token)").text.contains("Could not parse auth token."))
        #expect(try client.ask("GET", "/public.json", RESTClient.owner).status == 401)
        #expect(try client.ask("GET", "/private/a.json").text == "{\n  \"error\" : \"Permission denied\"\n}\n")
        let open = #"{"rules": {".read": true}}"#
        let address = try #require(SocketAddress(numeric: "0.0.0.0", port: 0))
        let openToAll = #expect(throws: Server.StartError.self) {
            try Self.server(open) {
                $0.isDevelopment = false
                $0.address = address
            }
        }
        #expect(openToAll?.message.contains("these rules let everybody read or write everything") == true)
        _ = try Self.server(open) {
            $0.isDevelopment = false
            $0.allowsOpenRules = true
            $0.address = address
        }
    }
}
