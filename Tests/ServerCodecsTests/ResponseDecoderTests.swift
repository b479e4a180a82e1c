import HearthHTTPCodec
import HearthServerCodecs
import HearthTestSupport
import Testing

@Suite("Responses")
struct ResponseDecoderTests {
    @Test("with a length keep the connection, also the next one after them")
    func length() {
        verifyResponses(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n",
            ["200 OK length=5", "body hello", "end", "404  length=0", "end"])
    }

    @Test("in chunks drop extensions and trailers")
    func chunks() {
        verifyResponses(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n0\r\nA: b\r\n\r\n",
            ["200 OK chunked", "body hello", "end"])
    }

    @Test("without a length end with the connection (RFC 9112 6.3)")
    func untilClose() {
        verifyResponses("HTTP/1.1 200 OK\r\n\r\nhello", closes: true, ["200 OK close", "body hello", "end"])
        verifyResponses("HTTP/1.1 200 OK\r\n\r\n", closes: true, ["200 OK close", "end"])
        verifyResponses(
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhiHTTP/1.0 200 OK\r\n\r\n",
            closes: true,
            ["200 OK HTTP/1.0 close length=2", "body hi", "end"])
    }

    @Test("to HEAD, and with 204 or 304, have no body")
    func bodiless() {
        let next = "HTTP/1.1 204 No Content\r\n\r\n"
        verifyResponses(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\(next)", to: .head,
            ["200 OK length=5", "end", "204 No Content", "end"])
        verifyResponses(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(next)", to: .head,
            ["200 OK chunked", "end", "204 No Content", "end"])
        verifyResponses(
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n\(next)",
            ["304 Not Modified length=5", "end", "204 No Content", "end"])
    }

    @Test("of the interim kind are skipped, 101 is not")
    func interim() {
        verifyResponses(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            ["204 No Content", "end"])
        verifyResponses(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
            ["101 Switching Protocols", "end"])
    }

    @Test("need a status line, whose reason may be any text or missing")
    func statusLines() {
        verifyResponses(
            "HTTP/1.1 299 Grün\tund gut \r\nContent-Length: 0\r\n\r\nHTTP/1.1 999\r\nContent-Length: 0\r\n\r\n",
            ["299 Grün\tund gut  length=0", "end", "999  length=0", "end"])
        for line in [
            "", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 099 x", "HTTP/1.1 2000 x", "HTTP/1.1  200 OK",
            "HTTP/1.1 2x0 OK",
            "http/1.1 200 OK", "HTTP/1.1 200OK", "ICY 200 OK",
        ] {
            verifyResponses("\(line)\r\nContent-Length: 0\r\n\r\n", ["failure malformedStatusLine"])
        }
        verifyResponses("HTTP/2.0 200 OK\r\n\r\n", ["failure unsupportedVersion"])
        verifyResponses("HTTP/1.1 200 O\u{0}K\r\n\r\n", ["failure controlByte"])
        verifyResponses("HTTP/1.1 200 O\rK\r\n\r\n", ["failure malformedStatusLine"])
    }

    @Test("with doubtful ends are refused")
    func doubtful() {
        let fields: [(String, HTTPFailure)] = [
            ("Content-Length: 5\r\nTransfer-Encoding: chunked", .contentLengthWithTransferEncoding),
            ("Content-Length: 5\r\nContent-Length: 6", .duplicateContentLength),
            ("Transfer-Encoding: gzip", .unsupportedTransferCoding),
        ]
        for (lines, failure) in fields {
            verifyResponses("HTTP/1.1 200 OK\r\n\(lines)\r\n\r\nhello", ["failure \(failure)"])
        }
    }

    @Test("cut off by the end of the connection are failures")
    func truncated() {
        verifyResponses("HTTP/1.1 200 OK\r\nCont", closes: true, ["failure truncated"])
        verifyResponses(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", closes: true,
            ["200 OK length=5", "body hell", "failure truncated"])
        verifyResponses(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", closes: true,
            ["200 OK chunked", "body hello", "failure truncated"])
        verifyResponses("HTTP/1.1 204 No Content\r\n\r\n", closes: true, ["204 No Content", "end"])
        verifyResponses("", closes: true, [])
    }

    @Test("written by the server side are read back", arguments: 1...40 as ClosedRange<UInt64>)
    func roundTrip(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var stream: [UInt8] = []
        var expected: [String] = []
        let request = try requestHead("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            var writer = ResponseWriter(answering: request)
            let body = [UInt8](repeating: UInt8(ascii: "b"), count: Int.random(in: 0...300, using: &random))
            writer.begin(.ok, date: HTTPDate(secondsSince1970: 0), into: &stream)
            if Bool.random(using: &random) {
                writer.end(body: body.span, into: &stream)
                expected.append("200 OK length=\(body.count)")
            } else {
                writer.beginStream(into: &stream)
                for piece in split(body, using: &random) { writer.chunk(piece.span, into: &stream) }
                writer.endStream(into: &stream)
                expected.append("200 OK chunked")
            }
            if !body.isEmpty { expected.append("body " + text(body)) }
            expected.append("end")
        }
        verify(stream, expect: expected, decoder: { ResponseDecoder() }, describe: describe)
    }

    @Test("are asked for by requests that no target or value can add lines to")
    func requests() {
        var output: [UInt8] = []
        RequestWriter.begin(
            .put, target: Array("/a b?x=\r\nHost: evil\u{7F}ü".utf8).span, host: Array("h:1\r\nX: y".utf8).span,
            into: &output)
        RequestWriter.header("Accept", "text/event-stream", into: &output)
        RequestWriter.header("Authorization", Array("Bearer a\nb".utf8).span, into: &output)
        RequestWriter.end(body: Array("{}".utf8).span, into: &output)
        RequestWriter.begin(.get, target: Array("".utf8).span, host: Array("h".utf8).span, into: &output)
        RequestWriter.end(into: &output)
        #expect(
            text(output) == "PUT /a%20b?x=%0d%0aHost:%20evil%7fü HTTP/1.1\r\nHost: h:1  X: y\r\n"
                + "Accept: text/event-stream\r\nAuthorization: Bearer a b\r\nContent-Length: 2\r\n\r\n{}"
                + "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    }

    @Test("are asked for with every method, which keeps its name")
    func methods() {
        for method in HTTPMethod.allCases {
            let name = method.name.withUTF8Buffer { Array($0) }
            #expect(HTTPMethod(name.span) == method)
            let lower = text(name).lowercased()
            #expect(HTTPMethod(Array(lower.utf8).span) == nil)
            #expect(HTTPMethod(ignoringCase: Array(lower.utf8).span) == method)
        }
        #expect(HTTPMethod(Array("".utf8).span) == nil)
        #expect(HTTPMethod(Array("\u{0}GET".utf8).span) == nil)
        #expect(HTTPMethod(Array("PROPFIND".utf8).span) == nil)
    }
}
