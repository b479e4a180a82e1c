import HearthHTTPCodec
import HearthServerCodecs
import HearthTestSupport
import Testing

@Suite("Requests")
struct RequestDecoderTests {
    struct Example: CustomTestStringConvertible {
        var name: String
        var stream: String
        var expected: [String]
        var testDescription: String { name }
    }

    static let examples = [
        Example(
            name: "RFC 9112 2.1 example",
            stream: "GET /hello.txt HTTP/1.1\r\nUser-Agent: curl/7.64.1\r\nHost: www.example.com\r\n"
                + "Accept-Language: en, mi\r\n\r\n",
            expected: ["GET /hello.txt", "end"]),
        Example(
            name: "RFC 9112 3.2.1 origin-form",
            stream: "GET /where?q=now HTTP/1.1\r\nHost: www.example.org\r\n\r\n",
            expected: ["GET /where?q=now", "end"]),
        Example(
            name: "RFC 9112 3.2.2 absolute-form",
            stream: "GET http://www.example.org/pub/WWW/TheProject.html HTTP/1.1\r\nHost: www.example.org\r\n\r\n",
            expected: ["GET /pub/WWW/TheProject.html", "end"]),
        Example(
            name: "absolute-form without a path",
            stream: "GET HTTPS://www.example.org?a=b HTTP/1.1\r\nHost: x\r\n\r\n", expected: ["GET ?a=b", "end"]),
        Example(
            name: "RFC 9112 3.2.4 asterisk-form",
            stream: "OPTIONS * HTTP/1.1\r\nHost: www.example.org:8001\r\n\r\n", expected: ["OPTIONS *", "end"]),
        Example(
            name: "RFC 9112 7.1 chunks, an extension and a trailer",
            stream: "POST / HTTP/1.1\r\nHost: x\r\ntransfer-ENCODING: Chunked\r\n\r\n"
                + "4\r\nWiki\r\n5;a=\"b;\tc\"\r\npedia\r\nE \t; x\r\n in\r\n\r\nchunks.\r\n00\r\n"
                + "Expires: never\r\nA:\r\n\r\n",
            expected: ["POST / chunked", "body Wikipedia in\r\n\r\nchunks.", "end"]),
        Example(
            name: "chunk sizes with capital and small digits and leading zeros",
            stream: "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "0000000000000001\r\na\r\nA\r\n0123456789\r\nb\r\n0123456789a\r\n0\r\n\r\n",
            expected: ["POST / chunked", "body a01234567890123456789a", "end"]),
        Example(
            name: "pipelined requests with and without bodies",
            stream: "PUT /a.json HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{\"a\":1}"
                + "GET /a.json HTTP/1.1\r\nHost: x\r\n\r\n"
                + "POST /a.json HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n\"\"\r\n0\r\n\r\n"
                + "DELETE /a.json HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
            expected: [
                "PUT /a.json length=7", "body {\"a\":1}", "end", "GET /a.json", "end", "POST /a.json chunked",
                "body \"\"", "end", "DELETE /a.json length=0", "end",
            ]),
        Example(
            name: "empty lines before a request line (RFC 9112 2.2)",
            stream: "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n\r\n",
            expected: ["GET /", "end", "GET /2", "end"]),
        Example(
            name: "HTTP/1.0 is answered and closed, whatever follows",
            stream: "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n",
            expected: ["GET / HTTP/1.0 close", "end"]),
        Example(
            name: "nothing is read behind Connection: close",
            stream: "GET / HTTP/1.1\r\nHost: x\r\nConnection: x, CLOSE\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n",
            expected: ["GET / close", "end"]),
        Example(
            name: "a later minor version counts as 1.1",
            stream: "GET / HTTP/1.9\r\nHost: x\r\n\r\n", expected: ["GET /", "end"]),
        Example(
            name: "an unknown method keeps its name",
            stream: "get / HTTP/1.1\r\nHost: x\r\n\r\nM-SEARCH /s HTTP/1.1\r\nHost: x\r\n\r\n",
            expected: ["get /", "end", "M-SEARCH /s", "end"]),
        Example(
            name: "expectation of 100 Continue",
            stream: "PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n1"
                + "PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n"
                + "PUT / HTTP/1.0\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n1",
            expected: [
                "PUT / length=1 expects", "body 1", "end", "PUT /", "end", "PUT / HTTP/1.0 close length=1", "body 1",
                "end",
            ]),
        Example(
            name: "RFC 6455 1.3 handshake",
            stream: "GET /chat HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: http://example.com\r\n"
                + "Sec-WebSocket-Protocol: chat, superchat\r\nSec-WebSocket-Version: 13\r\n\r\n",
            expected: ["GET /chat websocket", "end"]),
        Example(
            name: "a handshake with lists, in other cases",
            stream: "GET /.ws HTTP/1.1\r\nHost: x\r\nconnection: keep-alive\r\nCONNECTION: foo ,uPgRaDe\r\n"
                + "upgrade: h2c, WebSocket\r\n\r\n",
            expected: ["GET /.ws websocket", "end"]),
        Example(
            name: "no handshake: a POST, no Upgrade, no token in Connection, HTTP/1.0",
            stream: "POST / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
                + "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\n\r\n"
                + "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrades\r\nUpgrade: websocket\r\n\r\n"
                + "GET / HTTP/1.0\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
            expected: ["POST /", "end", "GET /", "end", "GET /", "end", "GET / HTTP/1.0 close", "end"]),
        Example(
            name: "targets as clients send them (rest.md 1)",
            stream: "GET //foo.json?ns=x HTTP/1.1\r\nHost: x\r\n\r\nGET /a/b/.json HTTP/1.1\r\nHost: x\r\n\r\n"
                + "GET /a+b.json HTTP/1.1\r\nHost: x\r\n\r\nGET /;:@'()*!~,.json HTTP/1.1\r\nHost: x\r\n\r\n"
                + "GET /ü.json?orderBy=%22$key%22&startAt=%22a/b#c?%22 HTTP/1.1\r\nHost: x\r\n\r\n",
            expected: [
                "GET //foo.json?ns=x", "end", "GET /a/b/.json", "end", "GET /a+b.json", "end",
                "GET /;:@'()*!~,.json", "end", "GET /ü.json?orderBy=%22$key%22&startAt=%22a/b#c?%22", "end",
            ]),
        Example(
            name: "a query write of the command line tool (rest.md 2)",
            stream: "PATCH /t.json?print=silent&writeSizeLimit=tiny HTTP/1.1\r\nhost: localhost:9000\r\n"
                + "authorization: Bearer owner\r\ncontent-length: 4\r\n\r\nnull",
            expected: ["PATCH /t.json?print=silent&writeSizeLimit=tiny length=4", "body null", "end"]),
        Example(
            name: "an empty host, a host with port, an IPv6 host",
            stream: "GET / HTTP/1.1\r\nHost:\r\n\r\nGET / HTTP/1.1\r\nHost: demo-x.firebaseio.com:443\r\n\r\n"
                + "GET / HTTP/1.1\r\nHost: [::1]:9000\r\n\r\n",
            expected: ["GET /", "end", "GET /", "end", "GET /", "end"]),
    ]

    @Test("are taken apart the same however they are split", arguments: examples)
    func decodes(example: Example) {
        verifyRequests(example.stream, example.expected)
    }

    @Test("have their parts in the head")
    func headParts() throws {
        let head = try requestHead(
            "GET /a%20b.json?ns=x&auth=t HTTP/1.1\r\nHost: demo-x.firebaseio.com\r\n\r\n")
        #expect(head.method == .get)
        #expect(head.minorVersion == 1)
        #expect(text(head.path) == "/a%20b.json")
        #expect(text(head.host) == "demo-x.firebaseio.com")
        #expect(head.query.first("auth").map(text) == "t")
        #expect(!head.hasBody)
    }

    @Test("with an absolute target take the host from there (RFC 9112 3.2.2)")
    func absoluteTarget() throws {
        let head = try requestHead("GET http://a.example:80/p HTTP/1.1\r\nHost: b.example\r\n\r\n")
        #expect(text(head.host) == "a.example:80")
        #expect(text(head.path) == "/p")
    }

    @Test("leave what follows the end in the input")
    func consumption() {
        let stream = Array(
            "GET /.ws HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\u{1}\u{2}".utf8)
        for cut in 0..<(stream.count - 2) {
            var decoder = RequestDecoder()
            var first = UnsafeRawBufferPointer(start: nil, count: 0)
            stream[..<cut].withUnsafeBytes {
                first = $0
                let event = decoder.next(&first)
                #expect(event == nil && first.isEmpty)
            }
            stream[cut...].withUnsafeBytes {
                var input = $0
                guard case .head(let head) = decoder.next(&input) else {
                    Issue.record("no head, cut at \(cut)")
                    return
                }
                #expect(head.isWebSocketUpgrade)
                guard case .end = decoder.next(&input) else {
                    Issue.record("no end, cut at \(cut)")
                    return
                }
                #expect(Array(input) == [1, 2], "cut at \(cut)")
            }
        }
    }

    @Test("have their bodies handed out where they lie")
    func bodiesAreNotCopied() {
        let stream = Array("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello".utf8)
        stream.withUnsafeBytes { bytes in
            var decoder = RequestDecoder()
            var input = bytes
            _ = decoder.next(&input)
            guard case .body(let body) = decoder.next(&input) else {
                Issue.record("no body")
                return
            }
            #expect(body.baseAddress == bytes.baseAddress.map { $0 + stream.count - 5 })
            #expect(body.count == 5)
        }
    }

    @Test("leave no heap memory behind and an idle decoder between them")
    func idleDecoder() {
        var decoder = RequestDecoder()
        let stream = Array("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi\r\n".utf8)
        #expect(decoder.isIdle)
        #expect(decoder.heapBytes == 0)
        for index in stream.indices {
            stream[index...index].withUnsafeBytes {
                var input = $0
                while let event = decoder.next(&input) { if case .end = event { #expect(decoder.isIdle) } }
            }
            let isBetween = index == stream.count - 3 || index == stream.count - 1
            #expect(decoder.isIdle == isBetween, "after byte \(index)")
            if isBetween { #expect(decoder.heapBytes == 0) }
        }
    }

    @Test("drawn at random, chunked at random and pipelined are read back", arguments: 1...40 as ClosedRange<UInt64>)
    func randomRequests(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var stream: [UInt8] = []
        var expected: [String] = []
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let target = "/" + String(repeating: "k", count: Int.random(in: 0...30, using: &random)) + "?q"
            let body = (0..<Int.random(in: 0...50, using: &random)).map { _ in
                UInt8(ascii: "a") + UInt8.random(in: 0..<26, using: &random)
            }
            RequestWriter.begin(.post, target: Array(target.utf8).span, host: Array("h:1".utf8).span, into: &stream)
            for _ in 0..<Int.random(in: 0...5, using: &random) { RequestWriter.header("X-A", "b", into: &stream) }
            if Bool.random(using: &random) {
                RequestWriter.end(body: body.span, into: &stream)
                expected.append("POST \(target) length=\(body.count)")
            } else {
                stream += Array("Transfer-Encoding: chunked\r\n\r\n".utf8)
                for piece in split(body, using: &random) {
                    stream += Array("\(String(piece.count, radix: 16));x=y\r\n".utf8) + piece + [13, 10]
                }
                stream += Array("0\r\n\r\n".utf8)
                expected.append("POST \(target) chunked")
            }
            if !body.isEmpty { expected.append("body " + text(body)) }
            expected.append("end")
        }
        verify(stream, expect: expected, decoder: { RequestDecoder() }, describe: describe)
    }
}
