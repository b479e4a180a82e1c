import HearthHTTPCodec
import HearthServerCodecs
import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing
import HearthStorageErrors

@testable import HearthDelivery
@testable import HearthHTTPResponses
@testable import HearthREST

@Suite("REST responses") struct RESTResponseTests {
    private static let value: CanonicalJSON = #"{".priority":2,"b":1,"l":{"0":"x","2":{".priority":1,".value":"z"}}}"#
    private static let tag = String(decoding: NodeHash.hash(value), as: UTF8.self)
    private static let tagOfOne = String(decoding: NodeHash.hash("1"), as: UTF8.self)
    private static let plain = #"{"b":1,"l":["x",null,"z"]}"#

    @Test(
        "what is read is shown as it was asked for (rest.md 2)",
        arguments: [
            ("GET /t.json", [], "200 ETag: - \(plain)"), ("HEAD /t.json", [], "200 ETag: - \(plain)"),
            ("GET /t.json?format=export", [], "200 ETag: - \(value)"),
            ("GET /t.json?shallow=true", [], #"200 ETag: - {"b":true,"l":true}"#),
            ("GET /t.json?shallow=true&limitToFirst=1", [], #"200 ETag: - {"b":true}"#),
            ("GET /t.json?shallow=true&startAfter=b", [], #"200 ETag: - {"l":true}"#),
            ("GET /t.json?shallow=true&startAfter=z&limitToFirst=9", [], "200 ETag: - null"),
            ("GET /t/.priority.json", ["X-Firebase-ETag: true"], "200 ETag: - 2"),
            ("GET /t.json?print=silent", [], "204 ETag: - "),
            ("GET /t.json?print=silent", ["X-Firebase-ETag: true"], "204 ETag: \(tag) "),
            ("GET /t.json", ["X-Firebase-ETag: true"], "200 ETag: \(tag) \(plain)"),
            ("GET /t.json", ["X-Firebase-ETag: no"], "200 ETag: - \(plain)"),
            ("GET /t.json", ["If-None-Match: \(tag)"], "304 ETag: \(tag) "),
            ("GET /t.json", ["If-None-Match: \"\(tag)\""], "304 ETag: \(tag) "),
            ("GET /t.json", ["If-None-Match: other"], "200 ETag: \(tag) \(plain)"),
            ("GET /t.json?callback=a.b$_1", [], "200 ETag: - a.b$_1(\(plain))"),
            (
                "GET /t.json?print=pretty&shallow=true&callback=f", [],
                "200 ETag: - f({\n  \"b\" : true,\n  \"l\" : true\n}\n)"
            ),
        ])
    func reads(line: String, fields: [String], expected: String) throws {
        let response = try RESTRequests.exchange(line, fields).response(to: .value(Self.value))
        #expect(response.summary("ETag") == expected)
    }

    @Test("nothing is null, with a tag of its own, and a leaf is shown as it is")
    func edges() throws {
        let nothing = try RESTRequests.exchange("GET /t.json", ["X-Firebase-ETag: true"]).response(to: .value(.null))
        #expect(nothing.summary("ETag") == "200 ETag: null_etag null")
        let unchanged = try RESTRequests.exchange("GET /t.json", ["If-None-Match: null_etag"])
        #expect(unchanged.response(to: .value(.null)).summary("ETag") == "304 ETag: null_etag ")
        let shallow = try RESTRequests.exchange("GET /t.json?shallow=true&limitToFirst=1")
        #expect(shallow.response(to: .value("5")).summary() == "200 5")
        #expect(shallow.response(to: .value(#"{".priority":1,".value":"x"}"#)).summary() == "200 \"x\"")
        #expect(shallow.response(to: .value(.null)).summary() == "200 null")
    }

    @Test(
        "a write answers what the table says (rest.md 1)",
        arguments: [
            (
                "PUT /t.json", [], "1", Reply.value(value),
                "200 ETag: - \(#"{".priority":2,"b":1,"l":["x",null,{".priority":1,".value":"z"}]}"#)"
            ),
            ("PUT /t.json?print=silent", [], "1", .done, "204 ETag: - "),
            ("PUT /t.json?print=silent", ["If-Match: x"], "1", .value(value), "204 ETag: \(tag) "),
            ("PUT /t.json", ["If-Match: x"], "1", .value("1"), "200 ETag: \(tagOfOne) 1"),
            ("PUT /t.json", ["X-Firebase-ETag: true"], "null", .value(.null), "200 ETag: null_etag null"),
            ("PUT /t.json?print=pretty", [], "1", .value(#"{"a":1}"#), "200 ETag: - {\n  \"a\" : 1\n}\n"),
            ("POST /t.json", [], "1", .done, "200 ETag: - {\"name\":\"\(RESTRequests.pushID)\"}"),
            ("POST /t.json?print=silent", [], "1", .done, "204 ETag: - "),
            (
                "POST /t.json", ["X-Firebase-ETag: true"], "1", .value(value),
                "200 ETag: \(tag) {\"name\":\"\(RESTRequests.pushID)\"}"
            ),
            (
                "PATCH /t.json", ["X-Firebase-ETag: true"], #" { "b" : 5, "c/d":null } "#, .done,
                #"200 ETag: - {"b":5,"c/d":null}"#
            ),
            (
                "PATCH /t.json?print=pretty", [], #"{"b":[5,null],"c":{}}"#, .done,
                "200 ETag: - {\n  \"b\" : [ 5, null ],\n  \"c\" : { }\n}\n"
            ),
            ("PATCH /t.json?print=silent", [], "{}", .done, "204 ETag: - "),
            ("PATCH /t.json", [], "null", .done, "200 ETag: - null"),
            ("DELETE /t.json", [], "", .done, "200 ETag: - null"),
            ("DELETE /t.json?print=silent", [], "", .done, "204 ETag: - "),
            ("DELETE /t.json", ["X-Firebase-ETag: true"], "", .done, "200 ETag: null_etag null"),
            ("DELETE /t.json", ["If-Match: x"], "", .done, "200 ETag: null_etag null"),
            ("DELETE /t/.priority.json", [], "", .failed(.nothingThere), "200 ETag: - null"),
        ] as [(String, [String], String, Reply, String)])
    func writes(line: String, fields: [String], body: String, reply: Reply, expected: String) throws {
        let response = try RESTRequests.exchange(line, fields, body: body).response(to: reply)
        #expect(response.summary("ETag") == expected)
    }

    @Test("a stale condition answers the current value and its tag; other failures have their status")
    func failures() throws {
        let put = try RESTRequests.exchange("PUT /t.json", ["If-Match: x"], body: "1")
        #expect(put.response(to: .failed(.stale(Self.value))).summary("ETag") == "412 ETag: \(Self.tag) \(Self.plain)")
        #expect(put.response(to: .failed(.stale(.null))).summary("ETag") == "412 ETag: null_etag null")
        let new = try RESTRequests.exchange("PUT /t.json", ["If-None-Match: *"], body: "1")
        #expect(new.response(to: .failed(.stale(Self.value))).summary("ETag") == "412 ETag: \(Self.tag) \(Self.plain)")
        #expect(new.response(to: .value("1")).summary("ETag") == "200 ETag: \(Self.tagOfOne) 1")
        #expect(
            put.response(to: .failed(.unavailable(.full))).summary()
                == "503 {\n  \"error\" : \"no space left on the device that holds the data folder\"\n}\n")
        let priority = try RESTRequests.exchange("PUT /t/.priority.json", body: "1")
        #expect(priority.response(to: .failed(.nothingThere)).summary().starts(with: "400 "))
        let refused = Failure.refused(status: StaticText("x"), "a \"reason\"")
        #expect(put.response(to: .failed(refused)).summary() == "400 {\n  \"error\" : \"a \\\"reason\\\"\"\n}\n")
    }

    @Test("the error body is the one that clients know")
    func errorBody() {
        let response = HTTPResponse(.unauthorized, error: "Permission denied")
        #expect(response.summary() == "401 {\n  \"error\" : \"Permission denied\"\n}\n")
        guard case .text(let text) = response.body else { return }
        #expect(text.count == 36)
    }

    @Test(
        "a download has a name",
        arguments: [
            ("x.json", #"attachment; filename="x.json""#), ("a+b", #"attachment; filename="a b""#),
            ("a%22%0D%0Ab", #"attachment; filename="a___b"; filename*=UTF-8''a%22%0D%0Ab"#),
            ("%C3%BC", #"attachment; filename="__"; filename*=UTF-8''%C3%BC"#),
        ])
    func download(name: String, expected: String) throws {
        let response = try RESTRequests.exchange("GET /t.json?download=\(name)").response(to: .value("1"))
        #expect(response.summary("Content-Disposition") == "200 Content-Disposition: \(expected) 1")
    }

    @Test("every head allows reading from everywhere, and says what the body is")
    func heads() throws {
        var out: [UInt8] = []
        var writer = ResponseWriter(answering: try RESTRequests.head("GET /t.json?callback=f"))
        let response = try RESTRequests.exchange("GET /t.json?callback=f").response(to: .value("1"))
        #expect(response.writeHead(with: &writer, into: &out))
        let text = String(decoding: out, as: UTF8.self)
        for field in [
            "Access-Control-Allow-Origin: *", "Access-Control-Expose-Headers: ETag",
            "Cache-Control: no-cache",
            "Content-Type: text/javascript; charset=utf-8", "Content-Length: 4", "X-Content-Type-Options: nosniff",
        ] {
            #expect(text.contains("\r\n\(field)\r\n"), "\(text)")
        }
    }

    @Test(
        "of a large value only what is needed is read",
        arguments: [
            ("GET /t.json", [], .plain, false), ("GET /t.json?format=export", [], .export, false),
            ("GET /t.json?shallow=true", [], .shallow(ShallowRange()), false),
            ("GET /t/.priority.json", [], .priority, false), ("GET /t.json", ["X-Firebase-ETag: true"], .plain, true),
            ("GET /t.json", ["If-None-Match: x"], .plain, true), ("HEAD /t.json", [], nil, false),
            ("GET /t.json?print=silent", [], nil, false), ("HEAD /t.json", ["X-Firebase-ETag: true"], .nothing, true),
            ("GET /t.json?print=silent", ["X-Firebase-ETag: true"], .nothing, true),
        ] as [(String, [String], SnapshotText.Content?, Bool)])
    func snapshots(line: String, fields: [String], content: SnapshotText.Content?, hash: Bool) throws {
        let exchange = try RESTRequests.exchange(line, fields)
        guard let content else {
            #expect(exchange.snapshotForm(at: nil) == nil)
            return
        }
        guard case .text(let form) = exchange.snapshotForm(at: nil) else {
            Issue.record("no text")
            return
        }
        #expect(form.content == content)
        #expect(form.wantsHash == hash)
        let tag = hash ? Array("T=".utf8) : nil
        let status = line.contains("silent") ? "204 ETag: T= " : "200 ETag: \(hash ? "T=" : "-") …"
        #expect(exchange.response(toSnapshotOf: tag).summary("ETag") == status)
    }

    @Test("a large value that is known already is not sent")
    func knownSnapshot() throws {
        let exchange = try RESTRequests.exchange("GET /t.json", ["If-None-Match: T="])
        #expect(exchange.response(toSnapshotOf: Array("T=".utf8)).summary("ETag") == "304 ETag: T= ")
        let pretty = try RESTRequests.exchange("GET /t.json?print=pretty&callback=f")
        guard case .text(let form) = pretty.snapshotForm(at: nil) else {
            Issue.record("no text")
            return
        }
        #expect(form == SnapshotText(content: .plain, isPretty: true, head: Array("f(".utf8), tail: Array(")".utf8)))
    }
}
