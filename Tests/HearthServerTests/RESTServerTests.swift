import HearthDatabaseHost
import HearthServer
import HearthJSONTree
import HearthSystem
import HearthTestSupport
import Testing

@Suite("REST over a connection") struct RESTServerTests {
    @Test("values are written, read, updated, listed and removed")
    func writing() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/t.json", [], #"{"a":1}"#).text == #"{"a":1}"#)
        #expect(try client.ask("GET", "/t.json").text == #"{"a":1}"#)
        let nothing = try client.ask("GET", "/none.json")
        #expect(nothing.status == 200)
        #expect(nothing.text == "null")
        #expect(nothing.field("content-type") == "application/json; charset=utf-8")
        #expect(nothing.field("access-control-allow-origin") == "*")
        #expect(nothing.field("access-control-expose-headers") == "ETag")

        let silent = try client.ask("PUT", "/t.json?print=silent", [], #"{"a":1}"#)
        #expect(silent.status == 204)
        #expect(silent.body.isEmpty)
        #expect(try client.ask("PATCH", "/t.json", [], #"{"x/y":2,"a":null}"#).text == #"{"x/y":2,"a":null}"#)
        #expect(try client.ask("GET", "/t.json").text == #"{"x":{"y":2}}"#)

        var names: [String] = []
        for _ in 0..<5 {
            let text = try client.ask("POST", "/list.json", [], "1").text
            #expect(text.hasPrefix("{\"name\":\"-"), "\(text)")
            #expect(text.hasSuffix("\"}"), "\(text)")
            #expect(text.utf8.count == 31, "\(text)")
            names.append(String(text.dropFirst(9).dropLast(2)))
        }
        #expect(names == names.sorted())
        #expect(try client.ask("GET", "/list/\(names[3]).json").text == "1")

        #expect(try client.ask("DELETE", "/t.json").text == "null")
        #expect(try client.ask("DELETE", "/t.json").text == "null")
        #expect(try client.ask("GET", "/t.json").text == "null")
        #expect(try client.ask("PATCH", "/.json?print=silent&writeSizeLimit=tiny", [], "null").status == 204)
        #expect(try client.ask("GET", "/.json").text == "null")
    }

    @Test("the examples that clients send (rest.md 1)")
    func examples() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let body = #"{"b":1,"a":{"x":null},"e":[],".priority":2}"#
        #expect(try client.ask("PUT", "/t.json", [], body).text == #"{".priority":2,"b":1}"#)
        let name = try client.ask("POST", "/t/list.json", [], #"{"v":1}"#).text.dropFirst(9).dropLast(2)
        let patch = #"{"b":5,"c/d":7,"old":null}"#
        #expect(try client.ask("PATCH", "/t.json", [], patch).text == patch)
        #expect(
            try client.ask("GET", "/t.json").text
                == #"{"b":5,"c":{"d":7},"list":{"\#(name)":{"v":1}}}"#)
        #expect(
            try client.ask("GET", "/t.json?format=export").text
                == #"{".priority":2,"b":5,"c":{"d":7},"list":{"\#(name)":{"v":1}}}"#)
        #expect(try client.ask("GET", "/t.json?shallow=true").text == #"{"b":true,"c":true,"list":true}"#)
        #expect(try client.ask("GET", "/t/c.json?print=pretty").text == "{\n  \"d\" : 7\n}\n")
        #expect(try client.ask("PUT", "/t/b/.priority.json", [], "\"p\"").text == "\"p\"")
        #expect(try client.ask("GET", "/t/b.json?format=export").text == #"{".priority":"p",".value":5}"#)
        #expect(try client.ask("GET", "/t/b/.priority.json").text == "\"p\"")
        #expect(try client.ask("GET", "/t/c/.priority.json").text == "null")
        #expect(try client.ask("PUT", "/none/.priority.json", [], "1").status == 400)
        #expect(try client.ask("PUT", "/a.json", [], #"["x",null,"z"]"#).text == #"["x",null,"z"]"#)
        #expect(try client.ask("GET", "/a.json?format=export").text == #"{"0":"x","2":"z"}"#)
    }

    @Test("what filters select has a tag, and every form (rest.md 3)")
    func filters() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        try client.ask("PUT", "/t.json", [], #"{"a":{"x":[1,2]},"b":{".priority":2,".value":5},"c":{"y":{"z":1}}}"#)
        let last = "/t.json?orderBy=%22$key%22&limitToLast=2"
        #expect(try client.ask("GET", last).text == #"{"b":5,"c":{"y":{"z":1}}}"#)
        let export = #"{"b":{".priority":2,".value":5},"c":{"y":{"z":1}}}"#
        #expect(try client.ask("GET", "\(last)&format=export").text == export)
        #expect(try client.ask("GET", "\(last)&shallow=true").text == #"{"b":true,"c":true}"#)
        #expect(try client.ask("GET", "\(last)&print=silent").status == 204)
        #expect(try client.ask("GET", "\(last)&callback=f").text == #"f({"b":5,"c":{"y":{"z":1}}})"#)
        let tag = String(decoding: NodeHash.hash(try CanonicalJSON.parse(Array(export.utf8)).value), as: UTF8.self)
        #expect(try client.ask("GET", last, ["X-Firebase-ETag: true"]).field("etag") == tag)
        #expect(try client.ask("GET", last, ["if-none-match: \(tag)"]).status == 304)
        let order = "/t.json?orderBy=%22$priority%22&startAt=1"
        #expect(try client.ask("GET", "\(order)&shallow=true").text == #"{"b":true}"#)
        #expect(try client.ask("GET", "\(order)&shallow=true&startAt=3").text == #"{"b":true}"#)
        #expect(
            try client.ask("GET", "/t.json?shallow=true&orderBy=%22$key%22&startAfter=%22a%22&limitToFirst=1").text
                == #"{"b":true}"#)
        let none = try client.ask("GET", "/t.json?orderBy=%22$key%22&startAt=%22x%22", ["X-Firebase-ETag: true"])
        #expect(none.text == "null")
        #expect(none.field("etag") == "null_etag")
    }

    @Test("credentials of any kind are taken in development mode (rest.md 7)")
    func credentials() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        for (query, fields) in [
            ("auth=eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.", []), ("auth=owner", []), ("access_token=owner", []),
            ("auth_variable_override=%7B%22uid%22:%22s%20v%22%7D", ["authorization: Bearer owner"]),
            ("auth_variable_override=null&ac=x", ["Authorization: Bearer ya29.x"]), ("sse=true&dryRun=true", []),
        ] as [(String, [String])] {
            #expect(try client.ask("PUT", "/x.json?\(query)", fields, "1").text == "1", "\(query)")
            #expect(try client.ask("GET", "/x.json?\(query)", fields).text == "1", "\(query)")
        }
    }

    @Test("a form with a file replaces a place, as the pages of tools import (rest.md 1)")
    func upload() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let type = "Content-Type: multipart/form-data; boundary=----b"
        let form = "------b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n{\"x\":[1]}\r\n------b--\r\n"
        let target = "/a/.upload?ns=example&access_token=owner&writeSizeLimit=unlimited&disableTriggers=true"
        #expect(try client.ask("POST", target, [type], form).status == 200)
        #expect(try client.ask("GET", "/.json?ns=example").text == #"{"a":{"x":[1]}}"#)
        #expect(try client.ask("POST", "/.upload?ns=example", [type], form).status == 200)
        #expect(try client.ask("GET", "/.json?ns=example").text == #"{"x":[1]}"#)
        #expect(try client.ask("POST", target, [], form).status == 400)
        #expect(try client.ask("POST", target, [type], form.replacing("[1]", with: "[")).status == 400)
        #expect(try client.ask("PUT", target, [type], form).status == 404)
    }

    @Test("server values are resolved in what a write answers")
    func serverValues() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let before = WallClock.milliseconds
        let text = try client.ask("PUT", "/t.json", [], #"{".sv":"timestamp"}"#).text
        let time = try #require(Int64(text))
        #expect(time >= before)
        #expect(time <= WallClock.milliseconds)
        #expect(try client.ask("PUT", "/n.json", [], #"{"a":{".sv":{"increment":3}}}"#).text == #"{"a":3}"#)
        let patch = #"{"a":{".sv":{"increment":4}}}"#
        #expect(try client.ask("PATCH", "/n.json", [], patch).text == patch)
        #expect(try client.ask("GET", "/n/a.json").text == "7")
        #expect(try client.ask("PUT", "/n/a.json", [], #"{".sv":{"increment":0.5}}"#).text == "7.5")
    }

    @Test("conditions hold a write back, and an answer (rest.md 3)")
    func conditions() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let tagged = ["X-Firebase-ETag: true"]
        #expect(try client.ask("GET", "/e.json", tagged).field("etag") == "null_etag")
        let created = try client.ask("PUT", "/e.json", ["if-match: null_etag"], #"{"a":1}"#)
        #expect(created.status == 200)
        #expect(created.text == #"{"a":1}"#)
        let tag = try #require(created.field("etag"))
        #expect(tag.utf8.count == 28)
        #expect(try client.ask("GET", "/e.json", tagged).field("etag") == tag)
        #expect(try client.ask("GET", "/e.json").field("etag") == nil)

        let refused = try client.ask("PUT", "/e.json", ["if-match: null_etag"], #"{"a":2}"#)
        #expect(refused.status == 412)
        #expect(refused.text == #"{"a":1}"#)
        #expect(refused.field("etag") == tag)
        #expect(try client.ask("DELETE", "/e.json", ["if-match: other"]).status == 412)

        let unchanged = try client.ask("GET", "/e.json", ["if-none-match: \(tag)"])
        #expect(unchanged.status == 304)
        #expect(unchanged.body.isEmpty)
        #expect(unchanged.field("etag") == tag)
        let changed = try client.ask("GET", "/e.json", ["if-none-match: other"])
        #expect(changed.status == 200)
        #expect(changed.field("etag") == tag)
        let silent = try client.ask("GET", "/e.json?print=silent", tagged)
        #expect(silent.status == 204)
        #expect(silent.field("etag") == tag)

        let pushed = try client.ask("POST", "/l.json", tagged, #"{"a":1}"#)
        #expect(pushed.field("etag") == tag)
        #expect(try client.ask("PATCH", "/e.json", tagged, #"{"a":1}"#).field("etag") == nil)
        let removed = try client.ask("DELETE", "/e.json", ["if-match: \"\(tag)\""])
        #expect(removed.status == 200)
        #expect(removed.text == "null")
        #expect(removed.field("etag") == "null_etag")
        #expect(try client.ask("DELETE", "/e.json", ["if-match: null_etag"]).status == 200)
    }

    @Test("loops of reading and conditional writing lose nothing")
    func transactions() async throws {
        let server = try RealtimeTestServer { $0.loops = 2 }
        let port = server.port
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 { group.addTask { try Self.increment("/n.json", times: 5, port: port) } }
            try await group.waitForAll()
        }
        #expect(try server.connectREST().ask("GET", "/n.json").text == "20")
    }

    private static func increment(_ target: String, times: Int, port: UInt16) throws {
        let client = try RESTClient(port: port)
        for _ in 0..<times {
            var answer = try client.ask("GET", target, ["X-Firebase-ETag: true"])
            repeat {
                let next = (Int(answer.text) ?? 0) + 1
                let tag = try #require(answer.field("etag"))
                answer = try client.ask("PUT", target, ["if-match: \(tag)"], "\(next)")
            } while answer.status == 412
            #expect(answer.status == 200)
        }
    }

    @Test("databases are apart, come to be when they are named, and are listed")
    func databases() throws {
        let server = try RealtimeTestServer { $0.databaseNames.writtenMax = 2 }
        let client = try server.connectREST()
        try client.ask("PUT", "/x.json?ns=one", [], "1")
        #expect(try client.ask("GET", "/x.json?ns=two").text == "null")
        #expect(try client.ask("GET", "/x.json").text == "null")
        #expect(try client.ask("GET", "/x.json?ns=one").text == "1")
        try client.send("GET /x.json HTTP/1.1\r\nHost: ONE.hearth.localhost\r\n\r\n")
        #expect(try client.receive().text == "1")
        // A database that was only read does not exist.
        let names = #"[{"name":"default"},{"name":"one"}]"#
        #expect(try client.ask("GET", "/.inspect/databases.json?ns=any", RESTClient.owner).text == names)
        let malformed = try client.ask("GET", "/x.json?ns=a.b")
        #expect(malformed.status == 403)
        #expect(malformed.text == "{\n  \"error\" : \"Invalid Firebase database name\"\n}\n")
        try client.ask("PUT", "/x.json?ns=three", [], "1")
        // As many as may be made: they are served, and there is no further one.
        let refused = try client.ask("PUT", "/x.json?ns=four", [], "1")
        #expect(refused.status == 503)
        #expect(refused.text.contains("this server has as many databases as it may have (--databases-max)"))
        #expect(try client.ask("GET", "/x.json?ns=four").text == "null")
        #expect(try client.ask("GET", "/x.json?ns=three").text == "1")
    }

    @Test(
        "errors have their status and the body that clients read (rest.md 6)",
        arguments: [
            ("GET", "/", nil, 404, "append .json to your request URI to use the REST API"),
            ("PUT", "/a/b?print=silent", "1", 404, "append .json to your request URI to use the REST API"),
            ("GET", "/.unknown", nil, 404, "404 Not Found"), ("GET", "/.inspect/x.json", nil, 404, "404 Not Found"),
            ("GET", "/a%2Fb.json", nil, 400, "Invalid path: Invalid token in path"),
            ("PUT", "/a.json", "{", 400, "Invalid data; couldn't parse JSON object, array, or value."),
            ("PUT", "/a.json", nil, 400, "Error: No data supplied."),
            (
                "PATCH", "/a.json", "[1]", 400,
                "Invalid data; couldn't parse JSON object. Are you sending a JSON object with valid key names?"
            ),
            ("GET", "/a.json?orderBy=name", nil, 400, "orderBy must be a valid JSON encoded path"),
            ("GET", "/a.json?auth=secret", nil, 401, "Could not parse auth token."),
            ("PUT", "/.settings/rules.json", "{}", 401, "Unauthorized request."),
            ("GET", "/.inspect/databases.json", nil, 401, "Unauthorized request."),
            ("TRACE", "/a.json", nil, 405, "this method is not supported here"),
            ("PUT", "/healthz", "1", 405, "this method is not supported here"),
            ("GET", "/.ws", nil, 426, "this is a WebSocket endpoint"),
        ] as [(String, String, String?, Int, String)])
    func errors(method: String, target: String, body: String?, status: Int, text: String) throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let answer = try client.ask(method, target, body: body.map { Array($0.utf8) })
        #expect(answer.status == status)
        #expect(answer.text == "{\n  \"error\" : \"\(text)\"\n}\n")
        #expect(answer.field("access-control-allow-origin") == "*")
        #expect(answer.field("content-type") == "application/json; charset=utf-8")
        if status == 405 { #expect(answer.field("allow")?.hasPrefix("GET, HEAD") == true) }
        // The connection continues.
        #expect(try client.ask("GET", "/healthz").text == "ok\n")
    }

    @Test("browsers of other origins may ask (rest.md 1)")
    func preflight() throws {
        let (server, _) = try AccessTests.server { $0.isDevelopment = false }
        let client = try server.connectREST()
        let answer = try client.ask(
            "OPTIONS", "/a.json",
            [
                "Origin: http://x", "Access-Control-Request-Method: PUT",
                "Access-Control-Request-Headers: authorization,x-firebase-etag",
                "Access-Control-Request-Private-Network: true",
            ])
        #expect(answer.status == 204)
        #expect(answer.field("access-control-allow-methods") == "GET, PUT, POST, PATCH, DELETE, OPTIONS")
        #expect(answer.field("access-control-allow-headers") == "authorization,x-firebase-etag")
        #expect(answer.field("access-control-allow-private-network") == "true")
        #expect(answer.field("access-control-max-age") == "3600")
        #expect(answer.field("access-control-allow-origin") == "*")
    }

    @Test("a deep value and a long key are the last that are taken")
    func limits() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let deep = String(repeating: "{\"a\":", count: 30) + "1" + String(repeating: "}", count: 30)
        #expect(try client.ask("PUT", "/x/y.json", [], deep).text == deep)
        #expect(try client.ask("PUT", "/x/y/z.json", [], deep).status == 400)
        let key = String(repeating: "k", count: 768)
        #expect(try client.ask("PUT", "/\(key).json", [], "1").status == 200)
        #expect(try client.ask("PUT", "/\(key)k.json", [], "1").status == 400)
        #expect(try client.ask("GET", "/ü%20/漢.json").text == "null")
        #expect(try client.ask("PUT", "/ü%20/漢.json", [], "\"é😀\"").text == "\"é😀\"")
        #expect(try client.ask("GET", "/.json?shallow=true").text == #"{"\#(key)":true,"x":true,"ü ":true}"#)
    }
}
