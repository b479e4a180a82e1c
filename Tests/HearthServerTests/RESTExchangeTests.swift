import HearthHTTPCodec
import HearthServerCodecs
import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import HearthTreeQueries
import Testing

@testable import HearthHTTPResponses
@testable import HearthREST
@testable import HearthHTTPConnections

@Suite("REST requests") struct RESTExchangeTests {
    private static let id = RESTRequests.pushID

    @Test(
        "a request becomes an operation (rest.md 1)",
        arguments: [
            ("GET /.json", [], "", "get /"), ("GET /a/b.json", [], "", "get /a/b"),
            ("GET /a//b.json", [], "", "get /a/b"), ("GET /a/b/.json", [], "", "get /a/b"),
            ("GET //a/b.json", [], "", "get /a/b"), ("GET /a%20b/%C3%BC+c.json", [], "", "get /a b/ü+c"),
            ("GET /;:@'()*!~,.json", [], "", "get /;:@'()*!~,"), ("GET /ü.json", [], "", "get /ü"),
            ("GET http://host/a.json?x=1", [], "", "get /a"), ("HEAD /a.json", [], "", "get /a"),
            ("GET /a/.priority.json", [], "", "get /a"),
            ("GET /a.json?shallow=true&limitToFirst=3&startAfter=x&timeout=500ms", [], "", "get /a"),
            ("GET /a.json?timeout=1.0s", [], "", "get /a"), ("GET /a.json?timeout=0.5min", [], "", "get /a"),
            ("GET /a.json?auth=%FF%00&access_token=&auth_variable_override={&ns=x", ["Authorization: ?"], "", "get /a"),
            ("PUT /t.json", [], #"{"b":1,"a":{"x":null},"e":[],".priority":2}"#, #"set /t {".priority":2,"b":1} echo"#),
            ("PUT /t.json?print=silent", [], " 5\n", "set /t 5"),
            ("PUT /t.json?print=silent", ["X-Firebase-ETag: true"], "5", "set /t 5 echo"),
            ("PUT /t.json", ["If-Match: null_etag"], "5", "set /t 5 if nothing echo"),
            ("PUT /t.json", ["if-match: \"abc=\""], "5", "set /t 5 if abc= echo"),
            ("PUT /t.json?print=silent", ["If-None-Match: *"], "5", "set /t 5 if nothing echo"),
            ("GET /t/.priority.json", ["If-None-Match: x"], "", "get /t"),
            ("PUT /t.json?writeSizeLimit=unlimited&disableTriggers=true", [], "null", "set /t null echo"),
            ("PUT /t.json", [], #"{".sv":"timestamp"}"#, #"set /t {".sv":"timestamp"} echo"#),
            ("PUT /t/.priority.json", [], "3", "set /t/.priority 3 echo"),
            ("PUT /.priority.json", [], "\"p\"", "set /.priority \"p\" echo"),
            ("DELETE /t.json", [], "ignored {", "set /t null"),
            ("DELETE /t.json", ["If-Match: x"], "", "set /t null if x"),
            ("DELETE /t/.priority.json", [], "", "set /t/.priority null"),
            ("POST /t.json", [], "{\"v\":1}", "set /t/\(id) {\"v\":1}"), ("POST /.json", [], "\"\"", "set /\(id) \"\""),
            ("POST /t.json", ["X-Firebase-ETag: TRUE"], "1", "set /t/\(id) 1 echo"),
            ("PATCH /t.json", [], #"{"b":5,"c/d":7,"old":null}"#, "update /t t/b=5 t/c/d=7 t/old=null"),
            ("PATCH /.json", [], #"{"/a/":{"x":[1]},".priority":1}"#, #"update / a={"x":{"0":1}} .priority=1"#),
            ("PATCH /t.json?print=silent&writeSizeLimit=tiny&disableTriggers=false", [], "null", "set /t null"),
            ("PATCH /t.json", ["X-Firebase-ETag: true"], "{}", "update /t "),
            ("POST /t.json", ["X-HTTP-Method-Override: patch"], #"{"a":1}"#, "update /t t/a=1"),
            ("POST /t.json?x-http-method-override=DELETE", [], "", "set /t null"),
            ("POST /t.json?X-HTTP-Method-Override=delete", [], "", "set /t null"),
            ("POST /t.json", ["x-http-method-override: Put"], "1", "set /t 1 echo"),
            ("POST /t.json", ["x-http-method-override: get"], "1", "get /t"),
        ] as [(String, [String], String, String)])
    func operations(line: String, fields: [String], body: String, expected: String) throws {
        #expect(try RESTRequests.exchange(line, fields, body: body).operation.summary == expected)
    }

    @Test(
        "filters become a query (rest.md 2)",
        arguments: [
            ("orderBy=%22$key%22", ".key", nil, nil, nil),
            ("orderBy=%22$value%22&limitToFirst=3", ".value", nil, nil, 3),
            ("orderBy=%22a/b%22&startAt=%22%5Cu00e9+x%22&limitToLast=2", "a/b", #""é x""#, nil, -2),
            ("orderBy=%22$priority%22&endAt=5", ".priority", nil, "5", nil),
            ("orderBy=%22n%22&equalTo=null", "n", "null", "null", nil),
        ] as [(String, String, CanonicalJSON?, CanonicalJSON?, Int?)])
    func queries(filters: String, index: String, start: CanonicalJSON?, end: CanonicalJSON?, limit: Int?) throws {
        let operation = try RESTRequests.exchange("GET /a.json?\(filters)").operation
        guard case .get(let path, let query?, needsIndex: true) = operation else {
            Issue.record("\(operation.summary)")
            return
        }
        #expect("\(path)" == "/a")
        #expect("\(query.index)" == index)
        let expected = try Query(
            index: query.index, start: start.map { QueryBound($0) }, end: end.map { QueryBound($0) },
            limit: limit.map { QueryLimit($0 > 0 ? .first : .last, abs($0)) })
        #expect(query == expected)
    }

    @Test("a query with conditions is asked at a place that no other server takes for data (rest.md 10)")
    func conditions() throws {
        let text = #"{%22where%22:[[%22n%22,%22%3E%22,1]]}"#
        let expected = try ConditionParser.query(Array(#"{"where":[["n",">",1]]}"#.utf8))
        for line in ["GET /a/b/.find.json", "HEAD /a/b/.find.json", "GET /a//b/.find.json"] {
            let exchange = try RESTRequests.exchange("\(line)?ns=x&query=\(text)")
            #expect(exchange.operation.summary == "get /a/b \(expected)", "\(line)")
            #expect(!exchange.listens)
        }
        #expect(try RESTRequests.exchange("GET /.find.json?query={}").operation.summary.hasPrefix("get / "))
        let stream = try RESTRequests.exchange("GET /a/.find.json?query=\(text)", ["Accept: text/event-stream"])
        #expect(stream.listens)
        guard case .listenQuery(let path, let query, let form, known: nil, text: _, saysPosition: _) = stream.operation
        else {
            Issue.record("\(stream.operation)")
            return
        }
        #expect(path.description == "/a")
        #expect(query == expected)
        #expect(form == .eventStream)
        // A server that does not know the place reads the whole path as one of data.
        #expect(throws: PathError.key(.forbidden(byte: UInt8(ascii: ".")), index: 1)) {
            try Path(percentEncoded: Array("/a/.find".utf8))
        }
        // The head of a write alone is enough to refuse it.
        let write = try RESTRequests.head("PUT /a/.find.json?query={}")
        #expect(throws: RESTError.methodNotAllowed("GET, HEAD, OPTIONS")) { try RESTExchange.check(write) }
    }

    @Test("a bound with `After` or `Before` leaves out all children of its value")
    func openBounds() throws {
        let operation = try RESTRequests.exchange("GET /a.json?orderBy=%22n%22&startAfter=1&endBefore=2").operation
        guard case .get(_, let query?, needsIndex: true) = operation else {
            Issue.record("\(operation.summary)")
            return
        }
        for (value, isIn) in [("1", false), ("1.5", true), ("2", false), ("null", false)] as [(String, Bool)] {
            let child = try CanonicalJSON.parse(Array(#"{"n":\#(value),"m":0}"#.utf8)).value
            for key in ["", "~"] {
                let segment = Path([try Key(validating: "k\(key)")]).encoded
                let place = try #require(query.index.place(of: child, segment: segment))
                #expect(query.contains(place) == isIn, "\(value)")
            }
        }
    }

    private static let key = "Key value can't be empty or contain $ # [ ] / or ."
    private static let notJSON = "400 Invalid data; couldn't parse JSON object, array, or value."
    private static let notAnObject =
        "400 Invalid data; couldn't parse JSON object. Are you sending a JSON object with valid key names?"
    private static let badPath = "400 Invalid path: Invalid token in path"
    private static let wrongMethod = "405 this method is not supported here"
    private static let noOrder = "400 orderBy must be defined when other query parameters are defined"
    private static let noneMatch = "400 if-none-match is supported for GET, and as * alone for PUT of values only"
    private static let oldForm =
        "400 find is not a parameter: a query with conditions is GET /path/.find.json?query={…}"
    private static let oneQuery =
        "400 a query with conditions cannot be combined with shallow, or orderBy and what goes with it"
    private static let badOrder = "400 orderBy must be a valid JSON encoded path"

    @Test(
        "a request that cannot be carried out is refused in the known words (rest.md 6)",
        arguments: [
            ("GET /a.b.json", [], "", badPath), ("GET /a/$x.json", [], "", badPath),
            ("GET /a%2Fb.json", [], "", badPath),
            ("GET /a%5B0%5D.json", [], "", badPath), ("GET /a%zz.json", [], "", badPath),
            ("GET /a%.json", [], "", badPath), ("GET /%FF.json", [], "", badPath), ("GET /%00.json", [], "", badPath),
            ("GET /.info/connected.json", [], "", badPath), ("GET /a/.priority/b.json", [], "", badPath),
            ("GET /a%23.json", [], "", badPath), ("PUT /a/.value.json", [], "1", badPath),
            ("GET /a/.find/b.json?query={}", [], "", badPath), ("GET /.find/.json?query={}", [], "", badPath),
            ("GET /\(String(repeating: "a/", count: 33)).json", [], "", "400 Invalid path: deeper than 32 levels"),
            (
                "GET /\(String(repeating: "k", count: 769)).json", [], "",
                "400 Invalid path: a key is longer than 768 bytes"
            ),
            ("POST /\(String(repeating: "a/", count: 32)).json", [], "1", "400 Invalid path: deeper than 32 levels"),
            ("POST /a/.priority.json", [], "1", badPath), ("PATCH /a/.priority.json", [], "{}", badPath),

            ("TRACE /a.json", [], "", wrongMethod), ("PROPFIND /a.json", [], "", wrongMethod),
            ("POST /a.json", ["X-HTTP-Method-Override: HEAD"], "", wrongMethod),
            ("POST /a.json", ["X-HTTP-Method-Override: nonsense"], "", wrongMethod),

            ("PUT /a.json", [], "", "400 Error: No data supplied."),
            ("POST /a.json", [], "", "400 Error: No data supplied."),
            ("PATCH /a.json", [], " \r\n\t", "400 Error: No data supplied."),
            ("PUT /a.json", [], "{", notJSON), ("PUT /a.json", [], "{'a':1}", notJSON),
            ("POST /a.json", [], "NaN", notJSON),
            ("PUT /a.json", [], "1e400", notJSON), ("PUT /a.json", [], "1 2", notJSON),
            ("PUT /a.json", [], #"{".sv":"nonsense"}"#, notJSON), ("PUT /a.json", [], #"{".priority":[]}"#, notJSON),
            ("PUT /a/.priority.json", [], "{\"x\":1}", notJSON), ("PUT /a/.priority.json", [], "true", notJSON),
            ("PATCH /a.json", [], #"{"a":}"#, notJSON), ("PATCH /a.json", [], #"{"a":1"#, notJSON),
            ("PATCH /a.json", [], #"{"a":1} x"#, notJSON), ("PATCH /a.json", [], "nul", notJSON),
            ("PATCH /a.json", [], "5", notAnObject), ("PATCH /a.json", [], #"["x"]"#, notAnObject),
            ("PATCH /a.json", [], "[]", notAnObject), ("PATCH /a.json", [], "[null]", notAnObject),
            ("PATCH /a.json", [], "\"null\"", notAnObject),
            (
                "PUT /a.json", [], "{\"a\":1,\n  \"é\": {\"x.y\":2}}",
                "400 Invalid data; couldn't parse key beginning at 2:9. \(key)"
            ),
            ("PUT /a.json", [], #"{"":1}"#, "400 Invalid data; couldn't parse key beginning at 1:2. \(key)"),
            ("POST /a.json", [], #"[{"a/b":1}]"#, "400 Invalid data; couldn't parse key beginning at 1:3. \(key)"),
            ("PUT /a.json", [], #"{".info":1}"#, "400 Invalid data; couldn't parse key beginning at 1:2. \(key)"),
            (
                "PATCH /a.json", [], #"{"a":1, "b.c":2}"#,
                "400 Invalid data; couldn't parse key beginning at 1:9. \(key)"
            ),
            (
                "PATCH /a.json", [], "{\"a\":\n{\"$\":2}}",
                "400 Invalid data; couldn't parse key beginning at 2:2. \(key)"
            ),
            ("PATCH /a.json", [], #"{"":1}"#, "400 Invalid data; couldn't parse key beginning at 1:2. \(key)"),
            (
                "PATCH /\(String(repeating: "a/", count: 31)).json", [], #"{"b":1,"c/d":2}"#,
                "400 Invalid data; couldn't parse key beginning at 1:8. Invalid path: deeper than 32 levels"
            ),
            (
                "PUT /\(String(repeating: "a/", count: 31)).json", [], #"{"b":{"c":1}}"#,
                "\(notJSON) The data would be deeper than 32 levels."
            ),
            (
                "PATCH /a.json", [], #"{"a/b":1,"a":2}"#,
                "400 Invalid data; an update may not set a path and another one above it."
            ),
            (
                "PATCH /a.json", [], #"{"a":1,"a":2}"#,
                "400 Invalid data; an update may not set a path and another one above it."
            ),

            ("PATCH /a.json", ["If-Match: x"], "{}", "400 if-match is supported for PUT and DELETE of values only"),
            ("POST /a.json", ["If-Match: x"], "1", "400 if-match is supported for PUT and DELETE of values only"),
            (
                "PUT /a/.priority.json", ["If-Match: x"], "1",
                "400 if-match is supported for PUT and DELETE of values only"
            ),
            ("PUT /a.json", ["If-None-Match: x"], "1", noneMatch),
            ("PUT /a.json", ["If-None-Match: *", "If-Match: x"], "1", noneMatch),
            ("PUT /a/.priority.json", ["If-None-Match: *"], "1", noneMatch),
            ("DELETE /a.json", ["If-None-Match: *"], "", noneMatch),
            ("POST /a.json", ["If-None-Match: *"], "1", noneMatch),
            ("PATCH /a.json", ["If-None-Match: *"], "{}", noneMatch),
            ("PUT /a.json", ["If-Match:"], "1", "400 an ETag must not be empty"),
            ("GET /a.json", ["If-None-Match: \"\""], "", "400 an ETag must not be empty"),
            (
                "GET /a/.priority.json", ["Accept: text/event-stream"], "",
                "400 a priority has no event stream of its own"
            ),
            ("GET /a.json?limitToFirst=2", ["Accept: text/event-stream"], "", noOrder),
            ("GET /a.json?shallow=true&limitToFirst=2", ["Accept: text/event-stream"], "", noOrder),

            ("GET /a.json?limitToFirst=2", [], "", noOrder), ("GET /a.json?startAt=1", [], "", noOrder),
            ("GET /a.json?orderBy=name", [], "", badOrder), ("GET /a.json?orderBy=5", [], "", badOrder),
            ("GET /a.json?orderBy=%22%22", [], "", badOrder), ("GET /a.json?orderBy=%22a$b%22", [], "", badOrder),
            (
                "GET /a.json?orderBy=%22$key%22&startAt=5", [], "",
                "400 Provided key index type is invalid, must be string"
            ),
            (
                "GET /a.json?orderBy=%22$key%22&endAt=%22a.b%22", [], "",
                "400 Constraint key field must be a valid key name"
            ),
            ("GET /a.json?orderBy=%22a%22&startAt=x", [], "", "400 Constraint index field must be a JSON primitive"),
            ("GET /a.json?orderBy=%22a%22&equalTo={}", [], "", "400 Constraint index field must be a JSON primitive"),
            ("GET /a.json?orderBy=%22a%22&equalTo=[1]", [], "", "400 Constraint index field must be a JSON primitive"),
            (
                "GET /a.json?orderBy=%22a%22&limitToFirst=1&limitToLast=1", [], "",
                "400 Only one of limitToFirst and limitToLast may be specified"
            ),
            ("GET /a.json?orderBy=%22a%22&limitToFirst=x", [], "", "400 limitToFirst must be an integer"),
            ("GET /a.json?orderBy=%22a%22&limitToLast=1.5", [], "", "400 limitToLast must be an integer"),
            ("GET /a.json?orderBy=%22a%22&limitToFirst=0", [], "", "400 limitToFirst must be positive"),
            ("GET /a.json?orderBy=%22a%22&limitToLast=-1", [], "", "400 limitToLast must be positive"),
            (
                "GET /a.json?orderBy=%22a%22&equalTo=1&endAt=2", [], "",
                "400 equalTo cannot be specified in addition to startAfter, startAt, endAt, or endBefore"
            ),
            ("GET /a.json?shallow=true&limitToFirst=0", [], "", "400 limitToFirst must be positive"),
            ("GET /a.json?shallow=true&startAfter=a.b", [], "", "400 Constraint key field must be a valid key name"),
            ("GET /a.json?shallow=true&limitToLast=1", [], "", noOrder),
            (
                "PUT /a.json?limitToFirst=1", [], "1",
                "400 Querying related parameters not supported on this request type"
            ),
            (
                "DELETE /a.json?orderBy=%22x%22", [], "",
                "400 Querying related parameters not supported on this request type"
            ),
            ("GET /a.json?find={}", [], "", oldForm),
            ("GET /a.json?find={}", ["Accept: text/event-stream"], "", oldForm),
            ("PUT /a.json?find=", [], "1", oldForm), ("GET /a/.find.json?find={}", [], "", oldForm),
            ("GET /a/.find.json", [], "", "400 the parameter query is missing"),
            ("GET /a/.find.json?query=", [], "", "400 invalid query: the query must be a JSON object"),
            (
                "GET /a/.find.json?query={%22limit%22:0}", [], "",
                "400 invalid query: limit must be a whole number from 1 on, or null for all"
            ),
            ("GET /a/.find.json?query={}&shallow=true", [], "", oneQuery),
            ("GET /a/.find.json?query={}&limitToFirst=1", ["Accept: text/event-stream"], "", oneQuery),
            ("GET /a/.priority/.find.json?query={}", [], "", "400 a priority has no children to find"),
            ("PUT /a/.find.json?query={}", [], "1", wrongMethod),
            ("POST /a/.find.json?query={}", [], "{}", wrongMethod),
            ("PATCH /.find.json", [], "{}", wrongMethod), ("DELETE /a/.find.json?query={}", [], "", wrongMethod),
            ("GET /a.json?callback=a(b", [], "", "400 callback must be the name of a JavaScript function"),
            ("GET /a.json?callback=", [], "", "400 callback must be the name of a JavaScript function"),
            ("GET /a.json?callback=a..b", [], "", "400 callback must be the name of a JavaScript function"),
            ("GET /a.json?callback=1a", [], "", "400 callback must be the name of a JavaScript function"),
        ] as [(String, [String], String, String)])
    func refusals(line: String, fields: [String], body: String, expected: String) throws {
        #expect(try RESTRequests.refusal(line, fields, body: body) == expected)
    }

    @Test("a body that is not UTF-8, or too large for one write, is refused")
    func bodies() throws {
        let head = try RESTRequests.head("PUT /a.json")
        func refusal(_ body: [UInt8]) throws -> RESTError {
            try #require(throws: RESTError.self) { try RESTExchange(head, body: body, pushID: Key(0)) }
        }
        #expect(try refusal([0x22, 0xFF, 0x22]) == .notJSON)
        #expect(try refusal(Array("{\"a".utf8) + [0xC3] + Array("\":1}".utf8)) == .notJSON)
        #expect(try refusal([0x22] + Array(repeating: 0x61, count: 10 << 20 + 1) + [0x22]) == .tooLarge)
    }

    @Test(
        "times and sizes are checked",
        arguments: [
            (
                "timeout", ["500ms", "3s", "1.5s", "3min", "15min", "900s", "1ms"],
                ["", "5", "ms", "0s", "16min", "901s", "3h", "-1s", "1.5.5s", "99999999999999999999ms"]
            ),
            ("writeSizeLimit", ["tiny", "small", "medium", "large", "unlimited"], ["", "huge", "Tiny"]),
        ])
    func checkedParameters(name: String, good: [String], bad: [String]) throws {
        for value in good { #expect(try RESTRequests.refusal("GET /a.json?\(name)=\(value)") == nil, "\(value)") }
        for value in bad {
            let refusal = try RESTRequests.refusal("GET /a.json?\(name)=\(value)")
            #expect(refusal?.starts(with: "400 \(name) must be ") == true, "\(value)")
        }
    }

    @Test(
        "parameters are read (rest.md 2)",
        arguments: [
            ("", RESTParameters.Printing.compact, false, false), ("print=pretty", .pretty, false, false),
            ("print=silent&print=pretty", .silent, false, false), ("print=x&format=strict", .compact, false, false),
            ("shallow=true&format=export", .compact, true, true), ("shallow=1&format=", .compact, false, false),
            ("&&=&%&unknown=%zz&print", .compact, false, false),
        ])
    func parameters(query: String, printing: RESTParameters.Printing, isShallow: Bool, isExport: Bool) throws {
        let parameters = try RESTParameters(try RESTRequests.head("GET /a.json?\(query)").query)
        #expect(parameters.printing == printing)
        #expect(parameters.isShallow == isShallow)
        #expect(parameters.isExport == isExport)
    }

    @Test(
        "a request goes to its place and its database (rest.md 1)",
        arguments: [
            ("GET /a.json", "localhost:9000", Route.data, ""), ("GET /a.json?ns=x", "localhost", .data, "x"),
            ("GET /a.json", "demo-x.firebaseio.com", .data, "demo-x"),
            ("GET /a.json", "Demo-X-default-rtdb.europe-west1.firebasedatabase.app:80", .data, "demo-x-default-rtdb"),
            ("GET /a.json", "127.0.0.1:9000", .data, ""), ("GET /a.json?ns=127", "127.0.0.1", .data, ""),
            ("GET /a.json?ns=x", "a.b.c", .data, "x"), ("GET /a.json?ns=", "a.b.c", .data, "a"),
            ("GET /.json", "[::1]:9000", .data, ""), ("GET /", "h", .unknown, ""), ("GET /a", "h", .unknown, ""),
            ("GET /a.jsonx", "h", .unknown, ""), ("GET /healthz", "h", .health, ""),
            ("PUT /readyz", "h", .readiness, ""),
            ("GET /.ws?v=5", "h", .notWebSocket, ""), ("GET /.inspect/databases.json?ns=any", "h", .databases, "any"),
            ("GET /.inspect/coverage.json", "h", .unknown, ""), ("PUT /.settings/rules.json", "h", .settings, ""),
            ("OPTIONS /a.json", "h", .preflight, ""), ("OPTIONS *", "h", .preflight, ""),
            ("GET http://h", "h", .unknown, ""),
        ] as [(String, String, Route, String)])
    func routes(line: String, host: String, route: Route, database: String) throws {
        let head = try RESTRequests.head(line, host: host)
        #expect(Route(head) == route)
        #expect(head.databaseName == database)
    }

    @Test("whatever is asked is understood or refused", arguments: 1...4 as ClosedRange<UInt64>)
    func anything(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        let methods = ["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "TRACE"]
        let paths = [
            "/", "/a", "/a/b", "/.priority", "/a/.priority", "/%", "/%2", "/%C3%BC", "/%ff", "/.json", "//",
            "/a/.find",
        ]
        let queries = [
            "orderBy=%22a%22", "orderBy=", "limitToFirst=1", "limitToLast=-0", "startAt=%22", "endAt={}", "equalTo=1",
            "startAfter=%00", "shallow=true", "print=pretty", "print=silent", "callback=f", "download=%22%0A",
            "timeout=1ms", "timeout=9999999999999999s", "format=export", "&&==&%", "x-http-method-override=put",
            "ns=%FF", "find={}", "query={}",
            "query={%22aggregate%22:[%22count%22]}",
        ]
        let fields = [
            "If-Match: x", "If-Match: \"", "If-None-Match: null_etag", "X-Firebase-ETag: true",
            "X-HTTP-Method-Override: patch", "X-HTTP-Method-Override: \u{80}", "Accept: a, text/event-stream",
        ]
        let bodies: [String] = [
            "", "null", "{", "{}", "[]", "{\"\":1}", "{\"a/b\":{\"c\":[1,null]}}", "1e999", "\"\\ud800\"",
        ]
        let replies: [Reply] = [
            .done, .value(.null), .value(#"{".priority":1,"0":[]}"#), .failed(.stale("1")), .failed(.nothingThere),
        ]
        for _ in 0..<400 {
            let query = (0..<Int.random(in: 0...3, using: &random.random)).map { _ in random.pick(queries) }
            let line = "\(random.pick(methods)) \(random.pick(paths)).json?\(query.joined(separator: "&"))"
            let chosen = random.chance(1, in: 2) ? [random.pick(fields)] : []
            var body = random.chance(1, in: 3) ? random.noisyText(random.tree(depth: 2)) : random.pick(bodies)
            if random.chance(1, in: 4) { body = String(body.prefix(Int.random(in: 0...8, using: &random.random))) }
            guard let exchange = try? RESTRequests.exchange(line, chosen, body: body) else { continue }
            for reply in replies {
                let response = exchange.response(to: reply)
                #expect([200, 204, 304, 400, 412].contains(response.status.code), "\(line)")
            }
            let large = exchange.response(toSnapshotOf: exchange.snapshotForm(at: nil) == nil ? nil : [])
            #expect([200, 204, 304].contains(large.status.code), "\(line)")
        }
    }
}
