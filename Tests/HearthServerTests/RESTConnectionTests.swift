import Glibc
import HearthHTTPCodec
import HearthServer
import HearthSystem
import HearthTestSupport
import Testing
import HearthTreeStorage
import HearthRealtimeSessions

@Suite("HTTP connections") struct RESTConnectionTests {
    @Test("requests that come at once are answered in order")
    func pipelining() throws {
        let server = try RealtimeTestServer { $0.durability = .process }
        let client = try server.connectREST()
        var bytes: [UInt8] = []
        for index in 0..<300 {
            bytes += RESTClient.request("PUT", "/p/\(index).json", body: Array("\(index)".utf8))
            bytes += RESTClient.request("GET", "/p/\(index).json?print=pretty")
            bytes += RESTClient.request("GET", "/nowhere")
        }
        try client.send(bytes)
        for index in 0..<300 {
            #expect(try client.receive().text == "\(index)")
            #expect(try client.receive().text == "\(index)\n")
            #expect(try client.receive().status == 404)
        }
    }

    @Test("requests that are answered at once wait for a client that does not take their answers")
    func pipelinedFiles() throws {
        let server = try RealtimeTestServer { $0.connectionLimits.outboundBytesMax = 1 << 20 }
        let client = try server.connectREST(receiveBuffer: 4096)
        // Together they have far more bytes than may wait for a client.
        try client.send((0..<1000).flatMap { _ in RESTClient.request("GET", "/console/style.css") })
        let first = try client.receive()
        #expect(first.status == 200)
        #expect(first.body.count * 1000 > 4 << 20)
        for _ in 1..<1000 {
            let isSame = try client.receive().body == first.body
            #expect(isSame)
        }
    }

    @Test("a request is understood however its bytes are cut", arguments: [1, 2, 3, 7, 64])
    func cutting(size: Int) throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        var rest =
            RESTClient.request("PUT", "/c.json", ["X-Firebase-ETag: true"], body: Array(#"{"a":[1,2]}"#.utf8))[...]
            + RESTClient.request("GET", "/c.json")
        while !rest.isEmpty {
            try client.send(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        #expect(try client.receive().text == #"{"a":[1,2]}"#)
        #expect(try client.receive().text == #"{"a":[1,2]}"#)
    }

    @Test("the answer to a HEAD is the head of the answer to a GET")
    func head() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        try client.ask("PUT", "/h.json", [], #"{"a":1}"#)
        let answer = try client.ask("HEAD", "/h.json", ["X-Firebase-ETag: true"])
        #expect(answer.status == 200)
        #expect(answer.field("content-length") == "7")
        #expect(answer.field("etag")?.utf8.count == 28)
        #expect(answer.body.isEmpty)
        #expect(try client.ask("HEAD", "/nowhere").status == 404)
        #expect(try client.ask("GET", "/h.json").text == #"{"a":1}"#)
    }

    @Test("a body may come in chunks, and after 100 Continue")
    func bodies() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        try client.send(
            "PUT /b.json HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4;x=y\r\n\":1}\r\n0\r\n\r\n"
        )
        #expect(try client.receive().text == #"{"a":1}"#)
        try client.send("PUT /b.json HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
        #expect(try client.receiveSome() == Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        try client.send("5")
        #expect(try client.receive().text == "5")
        // Bodies that mean nothing are passed over.
        #expect(try client.ask("GET", "/b.json", [], "{").text == "5")
        #expect(try client.ask("DELETE", "/b.json", [], "{").text == "null")
    }

    @Test("connections end when the client wants it, after the answer")
    func closing() throws {
        let server = try RealtimeTestServer()
        let old = try server.connectREST()
        try old.send("GET /x.json HTTP/1.0\r\n\r\n")
        #expect(try old.receive().text == "null")
        #expect(old.receivesEnd())
        let closing = try server.connectREST()
        let answer = try closing.ask("GET", "/x.json", ["Connection: close"])
        #expect(answer.field("connection") == "close")
        #expect(closing.receivesEnd())
        // The client has sent everything; it still gets the answers.
        let half = try server.connectREST()
        try half.send(
            RESTClient.request("PUT", "/x.json", body: Array("1".utf8)) + RESTClient.request("GET", "/x.json"))
        half.endOutput()
        #expect(try half.receive().text == "1")
        #expect(try half.receive().text == "1")
        #expect(half.receivesEnd())
        let quiet = try server.connectREST()
        quiet.endOutput()
        #expect(quiet.receivesEnd())
        // In the middle of a request the end is final.
        let cut = try server.connectREST()
        try cut.send("PUT /x.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12")
        cut.endOutput()
        #expect(cut.receivesEnd())
        #expect(try server.connectREST().ask("GET", "/x.json").text == "1")
    }

    @Test(
        "bytes that are no request are answered and end the connection",
        arguments: [
            ("GET /x.json\r\n\r\n", 400), ("\u{16}\u{3}\u{1}", 400), ("GET /x.json HTTP/2.0\r\n\r\n", 505),
            ("GET /x.json HTTP/1.1\r\n\r\n", 400), ("GET /x.json HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
            ("PUT /x.json HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
            ("PUT /x.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
            ("PUT /x.json HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        ])
    func notHTTP(text: String, status: Int) throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        try client.send(text)
        let answer = try client.receive()
        #expect(answer.status == status)
        #expect(answer.text.hasPrefix("{\n  \"error\" : \""))
        #expect(answer.field("access-control-allow-origin") == "*")
        #expect(client.receivesEnd())
    }

    @Test("heads and bodies have a limit")
    func limits() throws {
        let server = try RealtimeTestServer { $0.connectionLimits.bodyBytesMax = 1000 }
        let target = try server.connectREST()
        try target.send("GET /\(String(repeating: "a", count: 40_000))")
        #expect(try target.receive().status == 414)
        #expect(target.receivesEnd())
        let head = try server.connectREST()
        try head.send("GET /x.json HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "a", count: 40_000))")
        #expect(try head.receive().status == 431)
        #expect(head.receivesEnd())
        let body = try server.connectREST()
        try body.send("PUT /x.json HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n")
        let answer = try body.receive()
        #expect(answer.status == 413)
        #expect(answer.text == "{\n  \"error\" : \"Payload is too large\"\n}\n")
        #expect(body.receivesEnd())
        let chunks = try server.connectREST()
        try chunks.send("PUT /x.json HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n")
        #expect(try chunks.receive().status == 413)
        #expect(try server.connectREST().ask("PUT", "/x.json", body: Array(repeating: 0x31, count: 1000)).status == 400)
        #expect(try server.connectREST().ask("GET", "/x.json").text == "null")
    }

    /// Between two steps of a client the machine may have other things to do: with a connection that ended too early,
    /// the limit is doubled, some times.
    private func withLimit(_ first: Duration, _ body: (Duration) throws -> Void) throws {
        var limit = first
        while true {
            do { return try body(limit) } catch let error as SystemError {
                limit *= 2
                guard limit <= first * 16 else { throw error }
            }
        }
    }

    @Test("a slow client has one deadline for a head, and must send a body at a least pace")
    func slowClients() throws { try withLimit(.seconds(3)) { try slowClients(limit: $0) } }

    private func slowClients(limit: Duration) throws {
        let server = try RealtimeTestServer {
            $0.connectionLimits.headTimeout = limit
            $0.connectionLimits.receivePatience = limit
            $0.connectionLimits.keepAliveTimeout = limit
        }
        let other = try server.connectREST()
        let slow = try server.connectREST()
        try slow.send("GET /x.json HTTP/1.1\r\nX: ")
        // Bytes that drip in do not move the deadline. Sending fails once the server has closed.
        while (try? slow.send("a")) != nil, (try? other.ask("GET", "/x.json"))?.status == 200 {
            if slow.hasInput { break }
        }
        #expect(try slow.receive().status == 408)
        let body = try server.connectREST()
        try body.send("PUT /x.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n1")
        #expect(try body.receive().status == 408)
        #expect(body.receivesEnd())
        let idle = try server.connectREST()
        #expect(idle.receivesEnd())
        let kept = try server.connectREST()
        #expect(try kept.ask("GET", "/x.json").status == 200)
        #expect(kept.receivesEnd())
    }

    @Test("each head has its own deadline, however closely they follow each other")
    func manyHeads() throws { try withLimit(.milliseconds(500)) { try manyHeads(limit: $0) } }

    private func manyHeads(limit: Duration) throws {
        let server = try RealtimeTestServer { $0.connectionLimits.headTimeout = limit }
        let client = try server.connectREST()
        let request = RESTClient.request("GET", "/healthz")
        try client.send(Array(request.prefix(10)))
        let start = MonotonicTime.current
        while MonotonicTime.current - start < limit * 3 {
            // One head ends, and another one begins, in the same bytes.
            try client.send(Array(request.dropFirst(10)) + Array(request.prefix(10)))
            let answer = try client.receive()
            if answer.status == 408 { throw SystemError("send heads", code: ETIMEDOUT) }
            #expect(answer.status == 200)
        }
    }

    @Test("a client that takes no answer is given up, others are served meanwhile")
    func slowReaders() throws { try withLimit(.seconds(10)) { try slowReaders(limit: $0) } }

    private func slowReaders(limit: Duration) throws {
        let server = try RealtimeTestServer { $0.connectionLimits.sendTimeout = limit }
        let writer = try server.connectREST()
        let text = "\"" + String(repeating: "x", count: 9 << 20) + "\""
        try writer.ask("PUT", "/big.json?print=silent", [], text)
        let stuck = try server.connectREST(receiveBuffer: 4096)
        try stuck.send(RESTClient.request("GET", "/big.json"))
        #expect(try stuck.receiveSome().starts(with: "HTTP/1.1 200 OK".utf8))
        let other = try server.connectREST()
        #expect(try other.ask("GET", "/big.json").body.count == text.utf8.count)
        #expect(stuck.isReset(), "the server waits for ever")
        #expect(try other.ask("GET", "/none.json").text == "null")
    }

    @Test("the server answers what it has taken before it ends")
    func shutdown() throws {
        let server = try RealtimeTestServer()
        let idle = try server.connectREST()
        #expect(try idle.ask("GET", "/x.json").text == "null")
        let busy = try server.connectREST()
        try busy.send(RESTClient.request("PUT", "/x.json", body: Array("1".utf8)))
        #expect(try busy.receive().text == "1")
        try server.beginToStop()
        #expect(idle.receivesEnd())
        #expect(busy.receivesEnd())
    }
}
