import Glibc
import HearthHTTPCodec
import HearthIdentity
import HearthTestSupport
import Testing
import HearthAccountEndpoints

/// Numbers at and beyond all limits, in every place of a request that is read as a number. A trap would end the process
/// of the tests.
@Suite("Numbers of any size in requests") struct NumberFieldTests {
    /// JSON texts. Some are beyond what JSON or 64 bits have.
    private static let extremes: [String] = {
        let plain: [String] = [
            "0", "-0", "-0.0", "1", "-1", "0.5", "-9223372036854775808", "-9223372036854775809", "9223372036854775807",
            "9223372036854775808", "18446744073709551615", "18446744073709551616", "9007199254740991",
            "9007199254740992", "9007199254740993", "-9007199254740993", "2147483648", "-2147483649", "4294967296",
            "1.7976931348623157e308", "-1.7976931348623157e308", "1e308", "-1e308", "1e-320", "1e400", "-1e400",
            "9223372036854775", "-9223372036854776", "99999999999999999999999999999999999999", "4611686018427387904",
        ]
        let quoted = [
            "-0.0", "-9223372036854775808", "9223372036854775807", "18446744073709551616", "1e308", "1e-320", "1e400",
        ].map { "\"\($0)\"" }
        let others: [String] = ["NaN", "Infinity", "\"NaN\"", "\"-Infinity\"", "\"\"", "true", "[]"]
        return plain + quoted + others
    }()

    /// The texts without their quotes, for places that are no JSON.
    private static let words: [String] = Set(extremes.map(unquoted)).subtracting(["", "[]"]).sorted()

    private static func unquoted(_ text: String) -> String { text.filter { $0 != "\"" } }

    // MARK: Accounts

    /// A request with a field, which a number takes the place of.
    private struct Form: Sendable {
        let target: String
        let fields: [String]
        /// The body, in which `%` marks the member.
        var body = "{%}"
        var isAdmin = true
        var method = "POST"
    }

    private static let update = ["validSince", "createdAt", "lastLoginAt", "deleteAttribute", "displayName"]

    private static let forms: [Form] = {
        let project = "/v1/projects/hearth"
        let imported = ["validSince", "createdAt", "lastLoginAt"]
        var forms = [
            Form(target: "/v1/accounts:update?key=k", fields: update, body: #"{"idToken":"TOKEN",%}"#, isAdmin: false),
            Form(target: "\(project)/accounts:update", fields: update, body: #"{"localId":"USER",%}"#),
            Form(
                target: "/v1/accounts:sendOobCode?key=k", fields: ["requestType"],
                body: #"{"email":"ann@example.com","idToken":"TOKEN",%}"#, isAdmin: false),
            Form(target: "\(project)/accounts:batchCreate", fields: imported, body: #"{"users":[{"localId":"i",%}]}"#),
            Form(
                target: "\(project)/accounts:batchCreate", fields: ["passwordUpdatedAt"],
                body: #"{"hashAlgorithm":"MD5","rounds":1,"users":[{"localId":"i","passwordHash":"AAAA",%}]}"#),
            Form(target: "\(project)/accounts:batchGet?PARAMETER", fields: ["maxResults"], method: "GET"),
            Form(target: "/identitytoolkit/v3/relyingparty/downloadAccount", fields: ["maxResults"]),
            Form(target: "/v2/projects/hearth/oauthIdpConfigs?PARAMETER", fields: ["pageSize"], method: "GET"),
            Form(target: "\(project)/accounts:query", fields: ["offset", "limit"]),
            Form(target: "\(project):createSessionCookie", fields: ["validDuration"], body: #"{"idToken":"TOKEN",%}"#),
        ]
        for (algorithm, fields) in [
            ("MD5", ["rounds"]), ("PBKDF2_SHA256", ["rounds"]), ("SCRYPT", ["memoryCost", "rounds"]),
            ("STANDARD_SCRYPT", ["cpuMemCost", "blockSize", "parallelization"]),
        ] {
            let others = fields.map { "\"\($0)\":2" }
            for field in fields {
                let rest = others.filter { !$0.hasPrefix("\"\(field)\"") }
                let members = ["\"hashAlgorithm\":\"\(algorithm)\"", "\"signerKey\":\"AAAA\""] + rest
                forms.append(
                    Form(
                        target: "\(project)/accounts:batchCreate", fields: [field],
                        body:
                            "{\(members.joined(separator: ",")),%,\"users\":[{\"localId\":\"p\",\"email\":\"p@example.com\","
                            + "\"passwordHash\":\"AAAA\",\"salt\":\"AAAA\"}]}"))
            }
        }
        return forms
    }()

    @Test("the account API answers each of them", arguments: [true, false])
    func accounts(isDevelopment: Bool) throws {
        let folder = TemporaryFolder()
        let client = try IdentityClient(isDevelopment: isDevelopment, folder: folder.path) {
            $0.options.attemptsPerAddressMax = .max
        }
        var bearer = "owner"
        if !isDevelopment {
            let assertion = try AdministratorKey(folder: folder.path).assertion()
            bearer = try #require(try client.accessToken(assertion)["access_token"])
        }
        let user = try client.signUp("ann@example.com")
        _ = try client.signUp("bob@example.com")
        let (id, token) = (try #require(user["localId"]), try #require(user["idToken"]))
        for form in Self.forms {
            for field in form.fields {
                for number in Self.extremes {
                    let value = field == "deleteAttribute" ? "[\(number)]" : number
                    // Who wrote a new time into the account has made the token void.
                    let body = form.body.replacing("%", with: "\"\(field)\":\(value)").replacing("TOKEN", with: token)
                        .replacing("USER", with: field == "validSince" ? "i" : id)
                    let target = form.target.replacing("PARAMETER", with: "\(field)=\(number.filter { $0 != "\"" })")
                    let fields = form.isAdmin ? ["Authorization: Bearer \(bearer)"] : []
                    let answer = try client.ask(
                        form.method, target, form.method == "GET" ? nil : body, fields, at: client.admin)
                    #expect((200..<500).contains(answer.status), "\(target) \(body)")
                }
                #expect(try client.signIn("bob@example.com").status == 200)
            }
        }
        // A hash whose costs were taken is one that can be tried.
        #expect(try client.signIn("p@example.com", "wrong!").status == 400)
    }

    @Test("the fields above are all that the account API reads as numbers")
    func accountFields() throws {
        let tested = Set(Self.forms.flatMap(\.fields))
        var read: Set<String> = []
        for file in try Self.sources("AccountEndpoints") + Self.sources("Identity/Passwords") {
            for match in file.matches(of: /(?:integer|number)\("(\w+)"/) { read.insert(String(match.1)) }
        }
        // Stored hashes, which have no other writer.
        read.subtract(["ln", "r", "p", "i"])
        #expect(read.count > 10)
        #expect(read.subtracting(tested) == [])
    }

    /// The texts of the files of a folder of `Sources`, but for those whose names begin with `others`.
    private static func sources(_ folder: String, notIn others: String = "-") throws -> [String] {
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/Sources/" + folder
        let stream = try #require(opendir(root), "\(root)")
        defer { closedir(stream) }
        var texts: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".swift"), !name.hasPrefix(others) {
                texts.append(String(decoding: TemporaryFolder.contents(of: "\(root)/\(name)"), as: UTF8.self))
            }
        }
        return texts
    }

    // MARK: Messages

    /// Bodies of messages in which `%` is a number; `r` itself too.
    private static let messageForms: [String] =
        [
            #"{"t":"d","d":{"r":%,"a":"g","b":{"p":"/a"}}}"#, #"{"t":%,"d":{"r":1,"a":"g","b":{"p":"/a"}}}"#,
            #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","h":"","t":%,"q":{}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"n","b":{"p":"/a","t":%,"q":{}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"ev","b":{"p":"/a","t":%,"e":["value"]}}}"#,
            #"{"t":"d","d":{"r":1,"a":"nev","b":{"t":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","h":"","t":1,"q":{"l":%,"vf":"l"}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","h":"","t":1,"q":{"l":%,"vf":"r","i":".value"}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"/a","q":{"l":%}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"/a","q":{"sp":%,"ep":%,"i":".value"}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"/a","q":{"sp":%,"sn":"%","i":"x","sin":%,"ein":%}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","since":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","since":"0123456789abcdef:%"}}}"#,
            #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","since":"%:%"}}}"#,
            #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","since":"0123456789abcdef:1:%"}}}"#,
            #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","h":"x","ch":{"hs":["x","y"],"ps":["%"]}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a/%","d":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/n","d":{".sv":{"increment":%}}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a","d":{".value":%,".priority":%}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a/.priority","d":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"m","b":{"p":"/a","d":{"%":%,"n":{".sv":{"increment":%}}}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"o","b":{"p":"/n","d":{".sv":{"increment":%}}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"s","b":{"c":{"%":%}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"gauth","b":{"cred":"owner","authvar":{"uid":%}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"auth","b":{"cred":%}}}"#,
            #"{"t":"c","d":{"t":"o","d":%}}"#, "%",
            #"{"t":"d","d":{"r":1,"a":"jr","b":{"p":"/mail","n":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"jr","b":{"p":"/mail","lease":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"jr","b":{"p":"/mail","wait":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"jx","b":{"p":"/mail","k":"a","claim":%,"lease":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"jf","b":{"p":"/mail","k":"a","claim":1,"delay":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/mail/%","d":{"at":%}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/passing/%","d":{"until":%}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"h","b":{"p":"/kept","c":"get","at":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"h","b":{"p":"/kept","c":"get","seq":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"h","b":{"p":"/kept","c":"restore","at":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"h","b":{"p":"/kept","c":"log","before":%,"n":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"h","b":{"p":"/kept","c":"diff","at":1,"to":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"h","b":{"p":"/kept","c":"diff","seq":1,"toSeq":%}}}"#,
            #"{"t":"d","d":{"r":1,"a":"cg","b":{"p":"/a","q":{"limit":%}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"cg","b":{"p":"/a","q":{"where":[["n",">",%],["m","in",[%,%]]]}}}}"#,
            #"{"t":"d","d":{"r":1,"a":"cq","b":{"p":"/a","q":{"where":[["n","==",%]],"limit":%},"t":%}}}"#,
        ]
        + [
            "sessions", "children", "count", "history", "log", "kick", "profile", "stats", "recent", "tail", "server",
            "renew",
        ].map {
            #"{"t":"d","d":{"r":1,"a":"admin","b":{"c":"\#($0)","p":"/a","n":%,"k":"%","before":%,"id":"%","on":%}}}"#
        }
        + ["backups", "check-backup", "read-backup"].map {
            #"{"t":"d","d":{"r":1,"a":"admin","b":{"c":"\#($0)","file":"x","at":%,"n":%}}}"#
        }

    /// What makes the messages above concern a queue, a collection that expires, and a place with a history.
    private static let settings = #"""
        {"settings":{"mail":{".queue":{"at":"at"}},"passing":{".expires":"until"},"kept":{".history":"30d"}}}
        """#

    /// The server answers to the closing of the connection when it is done with what came before.
    private static func send(_ messages: [String], to server: RealtimeTestServer) throws {
        let peer = try server.connect("/.ws?v=5&ns=example")
        _ = try peer.receiveMessage()
        try peer.send(1000, "gauth", #"{"cred":"owner"}"#)
        for message in messages { try peer.send(message) }
        try peer.sendClose(1000)
        while true {
            switch try peer.receive() {
            case .close, .end: return
            case .text: continue
            }
        }
    }

    @Test("the realtime protocol answers each of them", arguments: messageForms.indices)
    func messages(index: Int) throws {
        let server = try RealtimeTestServer()
        let rest = try server.connectREST()
        let settings = "/.settings/settings.json?ns=example"
        #expect(try rest.ask("PUT", settings, RESTClient.owner, Self.settings).status == 200)
        _ = try rest.ask("PUT", "/a.json?ns=example", RESTClient.owner, #"{"x":1,"y":9223372036854775807}"#)
        _ = try rest.ask("PUT", "/kept.json?ns=example", RESTClient.owner, "1")
        for number in Self.extremes {
            // In a string only its inside.
            let inside = Self.messageForms[index].replacing("\"%\"", with: "\"\(number.filter { $0 != "\"" })\"")
                .replacing(":%\"", with: ":\(number.filter { $0 != "\"" })\"")
            // A counter at the limit is counted on.
            let start = #"{"t":"d","d":{"r":9,"a":"p","b":{"p":"/n","d":9223372036854775807}}}"#
            try Self.send([start, inside.replacing("%", with: number)], to: server)
            #expect(try rest.ask("GET", "/a.json?ns=example&shallow=true", RESTClient.owner).status == 200, "\(number)")
        }
    }

    @Test("the numbers of messages are in the list above")
    func messageFields() throws {
        var read: Set<String> = []
        for file in try Self.sources("WireProtocol", notIn: "ServerMessage")
            + Self.sources("ServerProtocol", notIn: "Server")
        {
            // A member, and the number that is read in the same branch.
            for match in file.matches(of: /equals\("(\w+)"\)[^}]{0,80}?(?:\.integer\(\)| number\()/) {
                read.insert(String(match.1))
            }
            // A table of the names of numbers.
            for table in file.matches(of: /names: Set<String> = \[([^\]]+)\]/) {
                for match in table.1.matches(of: /"(\w+)"/) { read.insert(String(match.1)) }
            }
        }
        #expect(read.isSuperset(of: ["claim", "wait", "toSeq"]))
        for name in read {
            #expect(Self.messageForms.contains { $0.contains("\"\(name)\":%") }, "\(name)")
        }
    }

    // MARK: HTTP

    private static let targets: [String] = [
        "/a.json?ns=example&orderBy=%22$key%22&limitToFirst=%", "/a.json?ns=example&orderBy=%22$key%22&limitToLast=%",
        "/a.json?ns=example&shallow=true&limitToFirst=%", "/a.json?ns=example&orderBy=%22$value%22&startAt=%",
        "/a.json?ns=example&orderBy=%22$value%22&endAt=%", "/a.json?ns=example&orderBy=%22$value%22&equalTo=%",
        "/a.json?ns=example&orderBy=%22$value%22&startAfter=%&endBefore=%", "/a.json?ns=example&timeout=%ms",
        "/a.json?ns=example&timeout=%s", "/a.json?ns=example&timeout=%min", "/a.json?ns=example&writeSizeLimit=%",
        "/.lp?start=t&ser=%&v=%&ns=example&cb=%", "/.lp?id=%&pw=x&ser=%", "/.ws?v=%&ns=example&ls=%",
        "/.settings/denials.json?limit=%", "/a/%.json?ns=example",
    ]

    private static let headers: [String] = [
        "Content-Length: %", "Range: bytes=%-%", "Last-Event-ID: 0123456789abcdef:%", "X-Forwarded-For: 10.0.0.%",
        "Sec-WebSocket-Version: %", "Keep-Alive: timeout=%", "Expect: %", "If-None-Match: %",
    ]

    @Test("HTTP answers each of them, in parameters and in fields")
    func http() throws {
        let server = try RealtimeTestServer()
        let control = try server.connectREST()
        _ = try control.ask("PUT", "/a.json?ns=example", RESTClient.owner, #"{"x":1,"y":9223372036854775807}"#)
        for word in Self.words {
            for target in Self.targets {
                // `%2` begins an escape.
                let target = target.replacing("%22", with: "\u{1}").replacing("%", with: word)
                    .replacing("\u{1}", with: "%22")
                let status = try server.connectREST().ask("GET", target, RESTClient.owner).status
                #expect((200..<500).contains(status), "\(target)")
            }
            for header in Self.headers {
                let client = try server.connectREST()
                let field = header.replacing("%", with: word)
                try client.send(RESTClient.request("GET", "/a.json?ns=example", RESTClient.owner + [field]))
                // What waits for a body that does not come is ended.
                client.endOutput()
                _ = try client.receiveSome()
            }
            #expect(try control.ask("GET", "/a.json?ns=example", RESTClient.owner).status == 200, "\(word)")
        }
    }

    @Test("long polling answers each of them")
    func polling() throws {
        let server = try RealtimeTestServer()
        for word in Self.words {
            for parameters in ["ser=%", "seg0=%&ts0=1&d0=AAAA", "seg0=0&ts0=%&d0=AAAA"] {
                let peer = try PollingPeer(server)
                let target = "/.lp?id=\(peer.id)&pw=\(peer.password)&ns=example&ser=7&"
                let polls = try server.connectREST()
                try polls.send(RESTClient.request("GET", target + parameters.replacing("%", with: word)))
                // Only a poll that is good is left open, and ends with the session.
                _ = try server.connectREST().ask("GET", "/.lp?id=\(peer.id)&pw=\(peer.password)&ns=example&dframe=t")
            }
        }
        let control = try server.connectREST()
        #expect(try control.ask("GET", "/a.json?ns=example", RESTClient.owner).status == 200)
    }
}
