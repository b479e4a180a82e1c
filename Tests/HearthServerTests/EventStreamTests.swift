import HearthDatabaseHost
import HearthHTTPCodec
import HearthServerCodecs
import HearthServer
import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing
import HearthTreeStorage
import HearthRealtimeSessions

@Suite("Event streams") struct EventStreamTests {
    @Test("a stream begins with the value and is told of each change (rest.md 4)")
    func conversation() throws {
        let server = try RealtimeTestServer()
        let writer = try server.connectREST()
        try writer.ask("PUT", "/chat.json", [], #"{"a":{"t":"hi"}}"#)
        let stream = try EventStreamClient("/chat.json", of: server)
        #expect(stream.head.status == .ok)
        for (name, value) in [
            ("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"),
            ("access-control-allow-origin", "*"), ("connection", "close"),
        ] as [(StaticString, String)] {
            #expect(stream.head.headers.first(name).map { String(decoding: $0, as: UTF8.self) } == value)
        }
        #expect(stream.head.headers.first("content-length") == nil)
        #expect(!stream.head.isChunked)
        #expect(try stream.nextLine() == #"put {"path":"/","data":{"a":{"t":"hi"}}}"#)
        for (method, target, body, event) in [
            ("PUT", "/chat/b.json", #"{"t":"yo"}"#, #"put {"path":"/b","data":{"t":"yo"}}"#),
            ("PATCH", "/chat/a.json", #"{"t":"hi!","n":1}"#, #"patch {"path":"/a","data":{"t":"hi!","n":1}}"#),
            ("DELETE", "/chat/a.json", "", #"put {"path":"/a","data":null}"#),
            ("PATCH", "/chat.json", #"{"x":[1,2],"b":null}"#, #"patch {"path":"/","data":{"x":[1,2],"b":null}}"#),
            ("PUT", "/other.json", "1", nil),
            ("PUT", "/chat/x/.priority.json", "1", nil),
            ("PUT", "/chat/x/1.json", "\"ü\"", #"put {"path":"/x/1","data":"ü"}"#),
            ("PATCH", "/.json", #"{"chat/x/0":7,"other":2}"#, #"put {"path":"/x/0","data":7}"#),
            ("PATCH", "/.json", #"{"chat":5,"other":2}"#, #"put {"path":"/","data":5}"#),
            ("PUT", "/.json", #"{"chat":{"z":true},"other":2}"#, #"put {"path":"/","data":{"z":true}}"#),
            ("DELETE", "/.json", "", #"put {"path":"/","data":null}"#),
            ("PUT", "/chat.json", "\"end\"", #"put {"path":"/","data":"end"}"#),
        ] as [(String, String, String, String?)] {
            #expect(try writer.ask(method, target, [], body).status == 200)
            if let event { #expect(try stream.nextLine() == event) }
        }
    }

    @Test("a stream of chosen fields is told of what changes them (Protocol.md 18.3)")
    func fields() throws {
        let server = try RealtimeTestServer()
        let writer = try server.connectREST()
        try writer.ask("PUT", "/l.json", [], #"{"a":{"n":1,"t":"x","u":1},"b":{"n":2},"c":{"n":0,"t":"z"}}"#)
        let find = #"{"where":[["n",">",0]],"fields":["t","m/x"]}"#.utf8.map {
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 ? String(UnicodeScalar($0)) : "%\(String($0, radix: 16))"
        }
        let stream = try EventStreamClient("/l/.find.json?query=\(find.joined())", of: server)
        #expect(stream.head.status == .ok)
        #expect(try stream.nextLine() == #"put {"path":"/","data":{"a":{"t":"x"}}}"#)
        for (target, body, event) in [
            ("/l/a/u.json", "2", nil), ("/l/b/n.json", "3", nil),
            ("/l/b/m.json", #"{"x":1,"y":2}"#, #"put {"path":"/b","data":{"m":{"x":1}}}"#), ("/l/b/m/y.json", "3", nil),
            ("/l/c/n.json", "1", #"put {"path":"/c","data":{"t":"z"}}"#),
            ("/l/a/n.json", "-1", #"put {"path":"/a","data":null}"#),
            ("/l.json", #"{"b":{"n":1,"m":{"x":1}},"c":{"n":5,"t":"z"}}"#, nil),
            ("/l.json", #"{"d":{"n":1,"t":1}}"#, #"put {"path":"/","data":{"d":{"t":1}}}"#),
        ] as [(String, String, String?)] {
            #expect(try writer.ask("PUT", target, [], body).status == 200)
            if let event { #expect(try stream.nextLine() == event) }
        }
    }

    @Test(
        "events are sent byte by byte as Firebase sends them, and start over, unless a client asks for ids",
        arguments: [
            ("/a.json", []), ("/a.json", ["Last-Event-ID: 0123456789abcdef:1"]), ("/a.json?ids=false", []),
            ("/a.json", ["Last-Event-ID: a browser's"]), ("/a.json?ids=true", []),
        ] as [(String, [String])])
    func bytes(target: String, fields: [String]) throws {
        let server = try RealtimeTestServer()
        let writer = try server.connectREST()
        // Too large to be assembled.
        let text = String(repeating: "x", count: 600_000)
        try writer.ask("PUT", "/a.json", [], #"{"b":"\#(text)","c":"\#(text)"}"#)
        let stream = try EventStreamClient(target, of: server, fields: fields)
        _ = try stream.next()
        for (method, place, body) in [
            ("PUT", "/a/b.json", #"{"d":[1,2]}"#), ("PATCH", "/a.json", #"{"b":null,"c":"\n"}"#),
            ("PATCH", "/a.json", #"{"x/y":1,"c/z":true}"#), ("DELETE", "/.json", ""),
        ] {
            #expect(try writer.ask(method, place, [], body).status == 200)
        }
        var ids = [stream.lastEventID]
        for _ in 0..<4 {
            _ = try stream.next()
            ids.append(stream.lastEventID)
        }
        #expect(ids[0].isEmpty == !target.hasSuffix("true"))
        func id(_ number: Int) -> String {
            let id = ids[number - 1]
            if !id.isEmpty { #expect(Position(id)?.sequence == UInt64(number)) }
            return id.isEmpty ? "" : "id: \(String(decoding: id, as: UTF8.self))\n"
        }
        let expected = [
            "event: put\ndata: {\"path\":\"/\",\"data\":{\"b\":\"\(text)\",\"c\":\"\(text)\"}}\n\(id(1))\n",
            "event: put\ndata: {\"path\":\"/b\",\"data\":{\"d\":[1,2]}}\n\(id(2))\n",
            "event: patch\ndata: {\"path\":\"/\",\"data\":{\"c\":\"\\n\",\"b\":null}}\n\(id(3))\n",
            "event: patch\ndata: {\"path\":\"/\",\"data\":{\"x/y\":1,\"c/z\":true}}\n\(id(4))\n",
            "event: put\ndata: {\"path\":\"/\",\"data\":null}\n\(id(5))\n",
        ].joined()
        #expect(stream.bytes == Array(expected.utf8), "\(String(decoding: stream.bytes.suffix(400), as: UTF8.self))")
    }

    @Test("the events in the document are the server's", arguments: ProtocolDocument.shared.blocks("events"))
    func document(block: ProtocolDocument.Block) throws {
        let server = try RealtimeTestServer()
        let writer = try server.connectREST()
        var stream: EventStreamClient?
        var name = ""
        for line in block.lines where !line.isEmpty {
            if line.hasPrefix("event: ") {
                name = String(line.dropFirst(7))
            } else if line.hasPrefix("data: ") {
                #expect(try stream?.nextLine() == "\(name) \(line.dropFirst(6))", "\(block.testDescription)")
            } else if line.hasPrefix("id: <epoch>:") {
                let position = stream.flatMap { Position($0.lastEventID) }
                let check = position?.check == nil ? "" : ":<check>"
                #expect(line == "id: <epoch>:\(position?.sequence ?? 0)\(check)", "\(block.testDescription)")
            } else {
                let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
                if stream == nil {
                    stream = try EventStreamClient(parts[1], of: server)
                } else {
                    let body = parts.count > 2 ? Array(parts[2].utf8) : nil
                    #expect(try writer.ask(parts[0], parts[1], body: body).status == 200, "\(line)")
                }
            }
        }
        let hasIDs = block.lines.contains { $0.hasPrefix("id: ") }
        #expect(stream?.lastEventID.isEmpty == !hasIDs)
    }

    @Test("a stream with filters shows what is selected")
    func filters() throws {
        let server = try RealtimeTestServer()
        let writer = try server.connectREST()
        try writer.ask("PUT", "/t.json", [], #"{"a":1,"b":2,"c":3}"#)
        let stream = try EventStreamClient("/t.json?orderBy=%22$key%22&limitToLast=2", of: server)
        #expect(try stream.nextLine() == #"put {"path":"/","data":{"b":2,"c":3}}"#)
        try writer.ask("PUT", "/t/a.json", [], "5")
        try writer.ask("PUT", "/t/c.json", [], "4")
        #expect(try stream.nextLine() == #"put {"path":"/c","data":4}"#)
        // Who enters pushes somebody out, each with a put.
        try writer.ask("PUT", "/t/d/e.json", [], "6")
        #expect(try stream.nextLine() == #"put {"path":"/b","data":null}"#)
        #expect(try stream.nextLine() == #"put {"path":"/d","data":{"e":6}}"#)
        try writer.ask("PATCH", "/t.json", [], #"{"c":1,"d":2}"#)
        #expect(try stream.nextLine() == #"patch {"path":"/","data":{"c":1,"d":2}}"#)
        try writer.ask("PATCH", "/t/d.json", [], #"{"x":1,"y":2}"#)
        #expect(try stream.nextLine() == #"patch {"path":"/d","data":{"x":1,"y":2}}"#)
        try writer.ask("DELETE", "/t/d.json")
        #expect(try stream.nextLine() == #"put {"path":"/d","data":null}"#)
        #expect(try stream.nextLine() == #"put {"path":"/b","data":2}"#)
        try writer.ask("PUT", "/t.json", [], "1")
        #expect(try stream.nextLine() == #"put {"path":"/","data":null}"#)
    }

    @Test("what the events add up to is what a GET shows", arguments: 1...4 as ClosedRange<UInt64>)
    func replay(seed: UInt64) throws {
        let server = try RealtimeTestServer { $0.durability = .process }
        var random = RandomTrees(seed: seed)
        let writer = try server.connectREST()
        for _ in 0..<10 { try Self.write(on: writer, &random) }
        let key = "orderBy=%22$key%22"
        // Each with a child that the stream always shows.
        let targets = [
            ("/.json", "-1"), ("/r.json", "-1"), ("/r/a.json", "-1"), ("/r/a/b/c.json", "-1"), ("/r.json?\(key)", "-1"),
            ("/r.json?\(key)&limitToFirst=3", "-1"), ("/r.json?\(key)&limitToLast=2", "~"),
            ("/r.json?\(key)&startAt=%22a%22&endBefore=%22c%22", "a!"), ("/r/a.json?\(key)&limitToFirst=1", "-1"),
            ("/r.json?orderBy=%22$priority%22&limitToFirst=2", "-1"),
            ("/r/b.json?orderBy=%22$priority%22&endAt=null", "-1"),
        ]
        let streams = try targets.map { try EventStreamClient($0.0, of: server) }
        for round in 0..<6 {
            for _ in 0..<12 { try Self.write(on: writer, &random) }
            for (stream, (target, marker)) in zip(streams, targets) {
                let place = target.prefix { $0 != "." }
                let mark = "\"\(seed) \(round) \(target.filter(\.isLetter))\""
                try writer.ask("PUT", "\(place == "/" ? "" : place)/\(marker).json", [], mark)
                while stream.value.value(at: Path([try Key(validating: marker)])) != (try Self.json(mark)) {
                    try #require(try stream.next() != nil, "seed \(seed): \(target) ended")
                }
                let expected = try Self.json(try writer.ask("GET", target).text)
                #expect(stream.value == expected, "seed \(seed) round \(round): \(target)")
            }
        }
    }

    private static func json(_ text: String) throws -> CanonicalJSON { try CanonicalJSON.parse(Array(text.utf8)).value }

    private static func write(on client: RESTClient, _ random: inout RandomTrees) throws {
        let keys = ["a", "b", "c", "d", "0", "1", "2"]
        func key() -> String { random.pick(keys) }
        let path = (0..<random.pick([0, 1, 1, 2, 2, 3])).map { _ in key() }.reduce("/r") { $0 + "/" + $1 }
        switch random.pick([0, 1, 2, 2, 3, 4]) {
        case 0: try client.ask("DELETE", "\(path).json")
        case 1: try client.ask("PUT", "/.json", [], "{\"r\":\(value(&random, depth: 3))}")
        case 2: try client.ask("PUT", "\(path).json", [], value(&random, depth: 2))
        case 3: try client.ask("PUT", "\(path)/.priority.json", [], random.pick(["1", "null", "\"p\""]))
        default:
            let entries = Set((0..<random.pick([1, 2, 3])).map { _ in key() }).sorted()
            let isDeep = random.chance(1, in: 3)
            let base = random.chance(1, in: 3) ? "/" : path
            let list = entries.map {
                "\"\(base == "/" ? "r/" : "")\($0)\(isDeep ? "/" + key() : "")\":\(value(&random, depth: 1))"
            }
            try client.ask("PATCH", "\(base == "/" ? "" : base)/.json", [], "{\(list.joined(separator: ","))}")
        }
    }

    private static func value(_ random: inout RandomTrees, depth: Int) -> String {
        if depth == 0 || random.chance(1, in: 4) { return random.pick(["null", "1", "true", "\"é\"", "[2,3]"]) }
        let keys = ["a", "b", "c", "d", "0", "1", "2"].filter { _ in random.chance(1, in: 2) }
        var members = random.chance(1, in: 3) ? ["\".priority\":\(random.pick(["1", "2", "\"p\""]))"] : []
        members += keys.map { "\"\($0)\":\(value(&random, depth: depth - 1))" }
        return "{\(members.joined(separator: ","))}"
    }

    @Test("many streams of one place, on several loops and for both versions of HTTP, hear the same")
    func members() throws {
        let server = try RealtimeTestServer { $0.loops = 3 }
        let writer = try server.connectREST()
        let peer = try server.connect("/.ws?v=5")
        let streams = try (0..<12).map {
            try EventStreamClient("/x.json", of: server, version: $0 % 3 == 0 ? "HTTP/1.0" : "HTTP/1.1")
        }
        for stream in streams { #expect(try stream.nextLine() == #"put {"path":"/","data":null}"#) }
        _ = try peer.receiveMessage()
        try peer.send(#"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/x","h":""}}}"#)
        #expect(try peer.receiveMessage()?.contains(#""s":"ok""#) == true)
        for number in 0..<20 {
            try writer.ask("PUT", "/x/n.json", [], "\(number)")
            for stream in streams { #expect(try stream.nextLine() == #"put {"path":"/n","data":\#(number)}"#) }
            #expect(try peer.receiveMessage()?.contains(#""d":\#(number)"#) == true)
        }
    }

    @Test("a large value comes first, and what is written meanwhile comes after it", arguments: [1, 2] as [UInt64])
    func largeValue(seed: UInt64) throws {
        let server = try RealtimeTestServer { $0.durability = .process }
        let writer = try server.connectREST()
        let parts = (0..<300).map { "\"k\($0)\":\"\(String(repeating: "é\\\"", count: 1100))\"" }
        try writer.ask("PUT", "/big.json?print=silent", [], "{\(parts.joined(separator: ","))}")
        let connection = try server.connectREST(receiveBuffer: 4096)
        let stream: EventStreamClient
        if seed == 1 {
            stream = try EventStreamClient("/big.json", of: server, receiveBuffer: 4096)
        } else {
            // On a connection that has had an answer before.
            #expect(try connection.ask("GET", "/none.json").text == "null")
            stream = try EventStreamClient("/.json", of: server)
        }
        for number in 0..<3 { try writer.ask("PUT", "/big/k\(number).json", [], "\(number)") }
        for _ in 0..<4 { try #require(try stream.next() != nil) }
        let expected = try Self.json(try writer.ask("GET", seed == 1 ? "/big.json" : "/.json").text)
        #expect(stream.value == expected)
    }

    @Test("signs of life come when nothing else does")
    func keepAlive() throws {
        let server = try RealtimeTestServer { $0.connectionLimits.eventStreamKeepAlive = .milliseconds(30) }
        let stream = try EventStreamClient("/x.json", of: server)
        #expect(try stream.nextLine() == #"put {"path":"/","data":null}"#)
        for _ in 0..<3 { #expect(try stream.nextLine() == "keep-alive null") }
        try server.connectREST().ask("PUT", "/x.json", [], "1")
        var line = try stream.nextLine()
        while line == "keep-alive null" { line = try stream.nextLine() }
        #expect(line == #"put {"path":"/","data":1}"#)
        #expect(try stream.nextLine() == "keep-alive null")
    }

    @Test("a stream that cannot begin is an ordinary error, and the connection continues")
    func errors() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let accept = ["Accept: text/event-stream"]
        for (target, status, text) in [
            ("/a%2Fb.json", 400, "Invalid path: Invalid token in path"),
            ("/a.json?limitToFirst=1", 400, "orderBy must be defined when other query parameters are defined"),
            (
                "/u.json?orderBy=%22n/m%22&equalTo=1", 400,
                #"Index not defined, add \".indexOn\": \"n/m\", for path \"/u\", to the rules"#
            ),
            ("/a.json?ns=a.b", 403, "Invalid Firebase database name"),
            ("/a", 404, "append .json to your request URI to use the REST API"),
        ] {
            let answer = try client.ask("GET", target, accept)
            #expect(answer.status == status)
            #expect(answer.text == "{\n  \"error\" : \"\(text)\"\n}\n")
            #expect(answer.field("content-type") == "application/json; charset=utf-8")
        }
        #expect(try client.ask("HEAD", "/a.json", accept).field("content-type") == "application/json; charset=utf-8")
        #expect(try client.ask("GET", "/a.json").text == "null")
    }

    @Test("requests after that of a stream are not answered")
    func pipelining() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        try client.send(
            RESTClient.request("PUT", "/x.json", body: Array("1".utf8))
                + RESTClient.request("GET", "/x.json", ["Accept: text/event-stream"])
                + RESTClient.request("DELETE", "/x.json"))
        #expect(try client.receive().text == "1")
        guard case .head = try client.receivePart(), case .body(let first) = try client.receivePart() else {
            Issue.record("no stream")
            return
        }
        #expect(String(decoding: first, as: UTF8.self) == "event: put\ndata: {\"path\":\"/\",\"data\":1}\n\n")
        try client.send(RESTClient.request("DELETE", "/x.json"))
        let other = try server.connectREST()
        #expect(try other.ask("PUT", "/x.json", [], "2").text == "2")
        guard case .body(let second) = try client.receivePart() else {
            Issue.record("no event")
            return
        }
        #expect(String(decoding: second, as: UTF8.self) == "event: put\ndata: {\"path\":\"/\",\"data\":2}\n\n")
    }

    // MARK: Ends

    @Test("a stream ends with its client, and nothing is left of it")
    func disconnect() throws {
        let server = try RealtimeTestServer {
            $0.databaseNames.unwrittenMax = 1
        }
        let other = try server.connectREST()
        for hasFilters in [false, true] {
            // A database without files is one only while somebody is there. The last one was let go after the answer.
            while try other.ask("GET", "/x.json?ns=one").status != 200 {}
            let filters = hasFilters ? "&orderBy=%22$key%22&limitToFirst=1" : ""
            var stream: EventStreamClient? = try EventStreamClient("/x.json?ns=one\(filters)", of: server)
            #expect(try stream?.nextLine() == #"put {"path":"/","data":null}"#)
            #expect(try other.ask("GET", "/x.json?ns=two").status == 429)
            if hasFilters { stream?.connection.endOutput() } else { stream = nil }
            while try other.ask("GET", "/x.json?ns=two").status != 200 {}
            if let stream { #expect(try stream.next() == nil) }
        }
    }

    @Test("a client that takes no events is given up, others are not kept waiting")
    func slowReader() throws {
        let server = try RealtimeTestServer {
            $0.durability = .process
            $0.connectionLimits.outboundBytesMax = 1 << 20
        }
        let stuck = try EventStreamClient("/x.json", of: server, receiveBuffer: 4096)
        let stream = try EventStreamClient("/x.json", of: server)
        #expect(try stream.next() != nil)
        let writer = try server.connectREST()
        let text = "\"" + String(repeating: "x", count: 500_000) + "\""
        for _ in 0..<40 {
            try writer.ask("PUT", "/x.json?print=silent", [], text)
            #expect(try stream.next()?.data.count == text.utf8.count + #"{"path":"/","data":}"#.utf8.count)
        }
        #expect(stuck.connection.isReset())
        try writer.ask("PUT", "/x.json", [], "1")
        #expect(try stream.nextLine() == #"put {"path":"/","data":1}"#)
    }

    @Test("a client that takes nothing from one sign of life to the next is given up")
    func deadReader() throws {
        let server = try RealtimeTestServer { $0.connectionLimits.eventStreamKeepAlive = .milliseconds(100) }
        let writer = try server.connectREST()
        let text = "\"" + String(repeating: "x", count: 9_000_000) + "\""
        let stuck = try EventStreamClient("/x.json", of: server, receiveBuffer: 4096)
        try writer.ask("PUT", "/x.json?print=silent", [], text)
        #expect(stuck.connection.isReset())
    }

    @Test("a client that takes nothing for a time is given up, although events go on")
    func goneReader() throws {
        let server = try RealtimeTestServer {
            $0.connectionLimits.eventStreamKeepAlive = .milliseconds(500)
            $0.connectionLimits.sendTimeout = .seconds(2)
        }
        let writer = try server.connectREST()
        // Its system has room for some kilobytes, that of the server for much more.
        let stuck = try EventStreamClient("/x.json", of: server, receiveBuffer: 4096)
        var value = "\"\(String(repeating: "x", count: 100_000))\""
        try blockUntil("the end of the stream", within: .seconds(100)) {
            try writer.ask("PUT", "/x.json?print=silent", [], value)
            value = value == "1" ? "2" : "1"
            return stuck.connection.isReset(within: .zero)
        }
    }

    @Test("a server that ends lets its streams end in good order")
    func shutdown() throws {
        let server = try RealtimeTestServer()
        let streams = try ["/x.json", "/.json", "/x.json?orderBy=%22$key%22&limitToFirst=1"].map {
            try EventStreamClient($0, of: server)
        }
        for stream in streams { #expect(try stream.nextLine() == #"put {"path":"/","data":null}"#) }
        try server.connectREST().ask("PUT", "/x.json", [], #"{"a":1}"#)
        try server.beginToStop()
        #expect(try streams[0].nextLine() == #"put {"path":"/","data":{"a":1}}"#)
        #expect(try streams[1].nextLine() == #"put {"path":"/x","data":{"a":1}}"#)
        #expect(try streams[2].nextLine() == #"put {"path":"/","data":{"a":1}}"#)
        for stream in streams { #expect(try stream.next() == nil) }
    }
}
