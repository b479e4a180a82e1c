import HearthHTTPCodec
import HearthServerCodecs
import Testing

@Suite("Header fields")
struct HeaderFieldsTests {
    let headers: HeaderFields

    init() throws {
        headers = try requestHead(
            "GET / HTTP/1.1\r\nHost: x\r\nX-Firebase-ETag: true\r\nif-match:\t null_etag \t\r\nEmpty:\r\n"
                + "Vary: a ,, \t b,\r\nVARY: c\r\nNote: ü\ttab\r\nA^b: 1\r\n\r\n"
        ).headers
    }

    @Test("are found in any case, the first of several")
    func lookup() {
        #expect(headers.first("x-firebase-etag").map(text) == "true")
        #expect(headers.first("if-match").map(text) == "null_etag")
        #expect(headers.first("vary").map(text) == "a ,, \t b,")
        #expect(headers.first("empty").map(text) == "")
        #expect(headers.first("if-matc") == nil)
        #expect(headers.first("if-matchx") == nil)
        #expect(headers.first("get") == nil)
    }

    @Test("are combined to one list when several have a name (RFC 9110 5.3)")
    func combined() {
        #expect(headers.combined("vary").map(text) == "a ,, \t b,, c")
        #expect(headers.combined("host").map(text) == "x")
        #expect(headers.combined("empty") == [])
        #expect(headers.combined("var") == nil)
    }

    @Test("compare only letters without case: ^ and ~ differ in the same bit")
    func caseOfSymbols() {
        #expect(headers.first("a^b").map(text) == "1")
        #expect(headers.first("a~b") == nil)
    }

    @Test("iterate in the order received, values trimmed")
    func order() {
        #expect(
            headers.map { "\(text($0.name))=\(text($0.value))" } == [
                "Host=x", "X-Firebase-ETag=true", "if-match=null_etag", "Empty=", "Vary=a ,, \t b,", "VARY=c",
                "Note=ü\ttab", "A^b=1",
            ])
    }

    @Test("accept every value byte but control bytes, and every token byte in names")
    func everyByte() {
        let tokenBytes = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        let hostBytes = Set(
            "-._~!$&'()*+,;=%:[]0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for byte in 0...255 as ClosedRange<UInt8> {
            let value = Array("GET / HTTP/1.1\r\nHost: x\r\nX: aaa".utf8) + [byte] + Array("aaaaaaaaaaaa\r\n\r\n".utf8)
            #expect(isRequest(value) == (byte >= 0x20 && byte != 0x7F || byte == 9), "value byte \(byte)")
            let name = Array("GET / HTTP/1.1\r\nHost: x\r\nX".utf8) + [byte] + Array("Y: z\r\n\r\n".utf8)
            let isColon = byte == UInt8(ascii: ":")  // ends the name
            #expect(isRequest(name) == (tokenBytes.contains(byte) || isColon), "name byte \(byte)")
            let target = Array("GET /aaa".utf8) + [byte] + Array("aaaa HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
            #expect(isRequest(target) == (byte > 0x20 && byte != 0x7F), "target byte \(byte)")
            let host = Array("GET / HTTP/1.1\r\nHost: a".utf8) + [byte] + Array("a\r\n\r\n".utf8)
            #expect(isRequest(host) == hostBytes.contains(byte), "host byte \(byte)")
        }
    }

    private func isRequest(_ stream: [UInt8]) -> Bool {
        var decoder = RequestDecoder()
        return stream.withUnsafeBytes { bytes in
            var input = bytes
            if case .head = decoder.next(&input) { return true }
            return false
        }
    }
}
