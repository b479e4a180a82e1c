import HearthHTTPCodec
import HearthServerCodecs
import Testing

@Suite("Written responses")
struct ResponseWriterTests {
    let date = HTTPDate(secondsSince1970: 784_111_777)
    let dateLine = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

    private func writer(_ line: String, _ fields: String = "") throws -> ResponseWriter {
        ResponseWriter(answering: try requestHead("\(line)\r\nHost: x\r\n\(fields)\r\n"))
    }

    private func write(
        _ status: HTTPStatus, _ writer: ResponseWriter, body: String = "hello"
    ) -> String {
        var output: [UInt8] = []
        var writer = writer
        writer.begin(status, date: date, into: &output)
        writer.end(body: Array(body.utf8).span, into: &output)
        return text(output)
    }

    private func stream(_ writer: ResponseWriter, _ status: HTTPStatus = .ok) -> String {
        var output: [UInt8] = []
        var writer = writer
        writer.begin(status, date: date, into: &output)
        writer.beginStream(into: &output)
        for piece in ["hello", "", "0123456789abcdef"] { writer.chunk(Array(piece.utf8).span, into: &output) }
        writer.endStream(into: &output)
        return text(output)
    }

    @Test("have a length and keep the connection")
    func plain() throws {
        let writer = try writer("GET / HTTP/1.1")
        #expect(write(.ok, writer) == "HTTP/1.1 200 OK\r\n\(dateLine)Content-Length: 5\r\n\r\nhello")
        #expect(write(.ok, writer, body: "") == "HTTP/1.1 200 OK\r\n\(dateLine)Content-Length: 0\r\n\r\n")
        #expect(writer.keepAlive)
    }

    @Test("are appended after what the buffer holds, with their fields")
    func fields() throws {
        var output = Array("before".utf8)
        var writer = try writer("GET / HTTP/1.1")
        writer.begin(.ok, date: date, into: &output)
        writer.header("ETag", Array("null_etag".utf8).span, into: &output)
        writer.header("Cache-Control", "no-cache", into: &output)
        writer.header("Access-Control-Max-Age", 3600, into: &output)
        #expect(writer.end(contentLength: 12, into: &output))
        #expect(
            text(output) == "beforeHTTP/1.1 200 OK\r\n\(dateLine)ETag: null_etag\r\nCache-Control: no-cache\r\n"
                + "Access-Control-Max-Age: 3600\r\nContent-Length: 12\r\n\r\n")
    }

    @Test("have no body for HEAD, but its length")
    func head() throws {
        let writer = try writer("HEAD / HTTP/1.1")
        #expect(write(.ok, writer) == "HTTP/1.1 200 OK\r\n\(dateLine)Content-Length: 5\r\n\r\n")
        #expect(stream(writer) == "HTTP/1.1 200 OK\r\n\(dateLine)Transfer-Encoding: chunked\r\n\r\n")
    }

    @Test("have neither body nor length for 204 and 304", arguments: [HTTPStatus.noContent, .notModified])
    func bodiless(status: HTTPStatus) throws {
        let writer = try writer("GET / HTTP/1.1")
        let head = "HTTP/1.1 \(status.code) \(status.reason)\r\n\(dateLine)\r\n"
        #expect(write(status, writer) == head)
        #expect(stream(writer, status) == head)
    }

    @Test("end with the connection where nothing else can tell", arguments: ["HTTP/1.1", "HTTP/1.0"])
    func endless(version: String) throws {
        var output: [UInt8] = []
        var writer = try writer("GET / \(version)")
        writer.close()
        writer.begin(.ok, date: date, into: &output)
        writer.beginUntilClose(into: &output)
        for piece in ["hello", "", "again"] { writer.chunk(Array(piece.utf8).span, into: &output) }
        writer.endStream(into: &output)
        #expect(text(output) == "HTTP/1.1 200 OK\r\n\(dateLine)Connection: close\r\n\r\nhelloagain")
    }

    @Test("close when the request, its version or the server wants it")
    func close() throws {
        let closing = "HTTP/1.1 200 OK\r\n\(dateLine)Connection: close\r\nContent-Length: 5\r\n\r\nhello"
        #expect(write(.ok, try writer("GET / HTTP/1.1", "Connection: close\r\n")) == closing)
        #expect(write(.ok, try writer("GET / HTTP/1.0", "Connection: keep-alive\r\n")) == closing)
        #expect(write(.ok, ResponseWriter()) == closing)
        var writer = try writer("GET / HTTP/1.1")
        writer.close()
        #expect(write(.ok, writer) == closing)
        #expect(!writer.keepAlive)
    }

    @Test("stream in chunks, or up to the end of the connection for HTTP/1.0")
    func streams() throws {
        #expect(
            stream(try writer("GET / HTTP/1.1"))
                == "HTTP/1.1 200 OK\r\n\(dateLine)Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
                + "10\r\n0123456789abcdef\r\n0\r\n\r\n")
        #expect(
            stream(try writer("GET / HTTP/1.0"))
                == "HTTP/1.1 200 OK\r\n\(dateLine)Connection: close\r\n\r\nhello0123456789abcdef")
    }

    @Test("with 101 have neither length nor Connection: close")
    func upgrade() throws {
        var output: [UInt8] = []
        var writer = try writer("GET / HTTP/1.1", "Connection: close, upgrade\r\n")
        writer.begin(.switchingProtocols, date: date, into: &output)
        writer.header("Connection", "upgrade", into: &output)
        #expect(!writer.end(contentLength: 0, into: &output))
        #expect(text(output) == "HTTP/1.1 101 Switching Protocols\r\n\(dateLine)Connection: upgrade\r\n\r\n")
    }

    @Test("cannot be given lines by a value")
    func injection() throws {
        var output: [UInt8] = []
        var writer = try writer("GET / HTTP/1.1")
        writer.begin(.ok, date: date, into: &output)
        let value = "a\r\nSet-Cookie: b\r\n\r\n<html>\u{0}\u{7F}\tü"
        writer.header("Content-Disposition", Array(value.utf8).span, into: &output)
        writer.end(body: Array("".utf8).span, into: &output)
        #expect(
            text(output) == "HTTP/1.1 200 OK\r\n\(dateLine)"
                + "Content-Disposition: a  Set-Cookie: b    <html>  \tü\r\nContent-Length: 0\r\n\r\n")
    }

    @Test("can be preceded by 100 Continue")
    func interim() {
        var output: [UInt8] = []
        ResponseWriter.appendContinue(to: &output)
        #expect(text(output) == "HTTP/1.1 100 Continue\r\n\r\n")
    }

    @Test("write their date as RFC 9110 5.6.7 wants it")
    func dates() {
        let examples: [(Int, String)] = [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"), (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (.max, "Fri, 31 Dec 9999 23:59:59 GMT"), (-62_167_219_200, "Sat, 01 Jan 0000 00:00:00 GMT"),
            (.min, "Sat, 01 Jan 0000 00:00:00 GMT"),
        ]
        for (seconds, expected) in examples {
            #expect(text(HTTPDate(secondsSince1970: seconds).bytes) == expected, "\(seconds)")
        }
    }
}
