import HearthHTTPCodec
import HearthServerCodecs
import Testing

/// A text that two recipients could read differently is refused, and nothing after it is read.
@Suite("Refused requests")
struct SmugglingTests {
    struct Attack: CustomTestStringConvertible {
        var failure: HTTPFailure
        var stream: String
        var testDescription: String { "\(failure): \(stream.debugDescription)" }

        init(_ failure: HTTPFailure, _ stream: String) {
            self.failure = failure
            self.stream = stream
        }
    }

    static let lines: [Attack] = [
        Attack(.malformedRequestLine, "GET /"),
        Attack(.malformedRequestLine, "GET  / HTTP/1.1"),
        Attack(.malformedRequestLine, "GET /  HTTP/1.1"),
        Attack(.malformedRequestLine, "GET / HTTP/1.1 "),
        Attack(.malformedRequestLine, "GET /a b HTTP/1.1"),
        Attack(.malformedRequestLine, "GET\t/ HTTP/1.1"),
        Attack(.malformedRequestLine, "GET /\tHTTP/1.1"),
        Attack(.malformedRequestLine, "GET /\u{0} HTTP/1.1"),
        Attack(.malformedRequestLine, "GET /\u{7F} HTTP/1.1"),
        Attack(.malformedRequestLine, "GET /\rx HTTP/1.1"),
        Attack(.malformedRequestLine, "GET / http/1.1"),
        Attack(.malformedRequestLine, "GET / HTTP/1.10"),
        Attack(.malformedRequestLine, "GET / HTTP/1,1"),
        Attack(.malformedRequestLine, "GET / HTTP/1"),
        Attack(.malformedRequestLine, "GET / HTTP/x.1"),
        Attack(.malformedRequestLine, "GET / HTTP/1.x"),
        Attack(.malformedRequestLine, "G(T / HTTP/1.1"),
        Attack(.malformedRequestLine, " GET / HTTP/1.1"),
        Attack(.malformedRequestLine, "\u{0}GET / HTTP/1.1"),
        Attack(.malformedRequestLine, "\rGET / HTTP/1.1"),
        Attack(.unsupportedVersion, "GET / HTTP/2.0"),
        Attack(.unsupportedVersion, "GET / HTTP/0.9"),
        Attack(.unsupportedVersion, "PRI * HTTP/2.0"),
        Attack(.malformedTarget, "GET * HTTP/1.1"),
        Attack(.malformedTarget, "GET a/b HTTP/1.1"),
        Attack(.malformedTarget, "GET ftp://x/ HTTP/1.1"),
        Attack(.malformedTarget, "GET http:///x HTTP/1.1"),
        Attack(.malformedTarget, "CONNECT example.com:80 HTTP/1.1"),
        Attack(.malformedHost, "GET http://user@example.com/ HTTP/1.1"),
    ]

    static let fields: [Attack] = [
        Attack(.contentLengthWithTransferEncoding, "Content-Length: 5\r\nTransfer-Encoding: chunked"),
        Attack(.contentLengthWithTransferEncoding, "Transfer-Encoding: chunked\r\nContent-Length: 5"),
        Attack(.contentLengthWithTransferEncoding, "Transfer-Encoding: gzip\r\nContent-Length: 5"),
        Attack(.duplicateContentLength, "Content-Length: 5\r\nContent-Length: 6"),
        Attack(.duplicateContentLength, "Content-Length: 5\r\ncontent-length: 5"),
        Attack(.malformedContentLength, "Content-Length: 5, 5"),
        Attack(.malformedContentLength, "Content-Length: +5"),
        Attack(.malformedContentLength, "Content-Length: -5"),
        Attack(.malformedContentLength, "Content-Length: 0x5"),
        Attack(.malformedContentLength, "Content-Length: 5 5"),
        Attack(.malformedContentLength, "Content-Length: 5.0"),
        Attack(.malformedContentLength, "Content-Length: "),
        Attack(.malformedContentLength, "Content-Length: ５"),
        Attack(.bodyTooLarge, "Content-Length: 18446744073709551621"),
        Attack(.bodyTooLarge, "Content-Length: 9223372036854775808000000000000000000005"),
        Attack(.unsupportedTransferCoding, "Transfer-Encoding: gzip, chunked"),
        Attack(.unsupportedTransferCoding, "Transfer-Encoding: identity"),
        Attack(.unsupportedTransferCoding, "Transfer-Encoding: xchunked"),
        Attack(.unsupportedTransferCoding, "Transfer-Encoding: chunked;q=1"),
        Attack(.unsupportedTransferCoding, "Transfer-Encoding: \"chunked\""),
        Attack(.unsupportedTransferCoding, "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked"),
        Attack(.malformedTransferEncoding, "Transfer-Encoding: chunked, gzip"),
        Attack(.malformedTransferEncoding, "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
        Attack(.malformedTransferEncoding, "Transfer-Encoding: chunked, chunked"),
        Attack(.malformedTransferEncoding, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        Attack(.malformedTransferEncoding, "Transfer-Encoding: ,"),
        Attack(.malformedTransferEncoding, "Transfer-Encoding:"),
        Attack(.controlByte, "Transfer-Encoding: \u{B}chunked"),
        Attack(.controlByte, "Transfer-Encoding: chunked\u{0}"),
        Attack(.spaceBeforeColon, "Transfer-Encoding : chunked"),
        Attack(.spaceBeforeColon, "Content-Length\t: 5"),
        Attack(.obsoleteLineFolding, "X: y\r\n Content-Length: 5"),
        Attack(.obsoleteLineFolding, "X: y\r\n\tz"),
        Attack(.obsoleteLineFolding, " Content-Length: 5"),
        Attack(.malformedHeader, "Content-Length"),
        Attack(.malformedHeader, ": 5"),
        Attack(.malformedHeader, "Content\u{0}Length: 5"),
        Attack(.malformedHeader, "Content(Length): 5"),
        Attack(.malformedHeader, "Contènt: 5"),
        Attack(.malformedHeader, "\rX: y"),
        Attack(.controlByte, "X: y\rContent-Length: 5"),
        Attack(.controlByte, "X: y\r"),
        Attack(.controlByte, "X: y\u{0}"),
        Attack(.controlByte, "X: y\u{7F}z"),
        Attack(.controlByte, "X: y\u{1B}[0m"),
        Attack(.controlByte, "X: \t\u{8}"),
        Attack(.bareLineFeed, "X: y\nContent-Length: 5"),
        Attack(.bareLineFeed, "X: y\n"),
        Attack(.duplicateHost, "Host: y"),
        Attack(.duplicateHost, "host: x"),
    ]

    static let chunks: [Attack] = [
        Attack(.malformedChunk, "\r\n"),
        Attack(.malformedChunk, ";x\r\n"),
        Attack(.malformedChunk, " 5\r\n"),
        Attack(.malformedChunk, "5 \r\nhello\r\n"),
        Attack(.malformedChunk, "+5\r\n"),
        Attack(.malformedChunk, "-5\r\n"),
        Attack(.malformedChunk, "0x5\r\n"),
        Attack(.malformedChunk, "g\r\n"),
        Attack(.malformedChunk, "5_0\r\n"),
        Attack(.malformedChunk, "00000000000000005\r\n"),
        Attack(.malformedChunk, "5\nhello"),
        Attack(.malformedChunk, "5\r5"),
        Attack(.malformedChunk, "5;a\nb"),
        Attack(.malformedChunk, "5;a\rb"),
        Attack(.malformedChunk, "5;\u{0}\r\n"),
        Attack(.malformedChunk, "5;\u{7F}\r\n"),
        Attack(.malformedChunk, "5 x\r\n"),
        Attack(.malformedChunk, "0\r\n\n"),
        Attack(.malformedChunk, "0\r\n X: y\r\n\r\n"),
        Attack(.malformedChunk, "0\r\nX : y\r\n\r\n"),
        Attack(.malformedChunk, "0\r\nX\r\n\r\n"),
        Attack(.malformedChunk, "0\r\nX: y\n\r\n"),
        Attack(.malformedChunk, "0\r\nX: y\rz\r\n\r\n"),
        Attack(.malformedChunk, "0\r\nX: y\u{1}\r\n\r\n"),
        Attack(.malformedChunk, "0\r\n\rX"),
        Attack(.bodyTooLarge, "7fffffffffffffff\r\n"),
        Attack(.bodyTooLarge, "8000000000000000\r\n"),
        Attack(.bodyTooLarge, "ffffffffffffffff\r\n"),
    ]

    static let behind = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test("by their request line", arguments: lines)
    func refusesLine(attack: Attack) {
        verifyRequests("\(attack.stream)\r\nHost: x\r\n\r\n\(Self.behind)", ["failure \(attack.failure)"])
    }

    @Test("by their fields", arguments: fields)
    func refusesFields(attack: Attack) {
        verifyRequests(
            "POST / HTTP/1.1\r\nHost: x\r\n\(attack.stream)\r\n\r\n\(Self.behind)", ["failure \(attack.failure)"])
    }

    @Test("by their chunks", arguments: chunks)
    func refusesChunks(attack: Attack) {
        let head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        verifyRequests("\(head)\(attack.stream)\(Self.behind)", ["POST / chunked", "failure \(attack.failure)"])
    }

    @Test(
        "by what follows the data of a chunk", arguments: ["hellO!\r\n", "hello\n0\r\n\r\n", "hello\rX", "hello0\r\n"])
    func refusesChunkEnd(rest: String) {
        let head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n"
        verifyRequests(
            "\(head)\(rest)\(Self.behind)",
            [
                "POST / chunked", "body \(rest.unicodeScalars.prefix(5).map(String.init).joined())",
                "failure malformedChunk",
            ])
    }

    @Test("by their host (RFC 9112 3.2)")
    func refusesHosts() {
        verifyRequests("GET / HTTP/1.1\r\n\r\n\(Self.behind)", ["failure missingHost"])
        verifyRequests("GET http://x/ HTTP/1.1\r\n\r\n\(Self.behind)", ["failure missingHost"])
        for host in ["a b", "a/b", "user@a", "a?b", "ü", "a\\b", "<a>"] {
            verifyRequests("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n\(Self.behind)", ["failure malformedHost"])
        }
        verifyRequests("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n\(Self.behind)", ["failure duplicateHost"])
    }

    @Test("with chunks in HTTP/1.0 (RFC 9112 6.1)")
    func refusesChunksOfOldVersion() {
        verifyRequests(
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ["failure malformedTransferEncoding"])
    }

    @Test("of another protocol, told by the first bytes")
    func refusesOtherProtocols() {
        verifyRequests("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}", ["failure handshakeOfTLS"])
        verifyRequests("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ["failure unsupportedVersion"])
        verifyRequests("{\"t\":\"d\"}", ["failure malformedRequestLine"])
        verifyRequests("GET /\n", ["failure bareLineFeed"])
    }

    @Test("get these statuses")
    func statuses() {
        for failure in HTTPFailure.allCases {
            let expected =
                switch failure {
                case .unsupportedVersion: 505
                case .unsupportedTransferCoding: 501
                case .targetTooLong: 414
                case .bodyTooLarge: 413
                case .headTooLarge, .tooManyHeaders, .chunkFramingTooLarge: 431
                case .malformedStatusLine, .eventTooLarge: 502
                default: 400
                }
            #expect(failure.status.code == expected, "\(failure)")
        }
    }
}
