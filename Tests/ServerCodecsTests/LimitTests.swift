import HearthHTTPCodec
import Testing

/// Each limit is reached exactly and then crossed by one.
@Suite("Limits")
struct LimitTests {
    @Test("of head bytes: 431 after the first line")
    func headBytes() {
        let head = "GET / HTTP/1.1\r\nHost: x\r\nX: yyyyyyyy\r\n\r\n"
        let size = head.utf8.count
        verifyRequests(head + head, limits: HTTPLimits(headBytesMax: size), ["GET /", "end", "GET /", "end"])
        verifyRequests(head + head, limits: HTTPLimits(headBytesMax: size - 1), ["failure headTooLarge"])
    }

    @Test("of head bytes: 414 within the first line")
    func targetBytes() {
        let line = "GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\n"
        let head = line + "Host: x\r\n\r\n"
        verifyRequests(head, limits: HTTPLimits(headBytesMax: line.utf8.count), ["failure headTooLarge"])
        verifyRequests(head, limits: HTTPLimits(headBytesMax: line.utf8.count - 1), ["failure targetTooLong"])
        verifyRequests(
            "GET /" + String(repeating: "a", count: 40_000), ["failure targetTooLong"])
    }

    @Test("of head bytes are enforced before the head is complete")
    func headWithoutEnd() {
        let limits = HTTPLimits(headBytesMax: 64)
        let stream = "GET / HTTP/1.1\r\nX: " + String(repeating: "y", count: 64 - 19)
        verifyRequests(String(stream.dropLast()), limits: limits, [])
        verifyRequests(stream, limits: limits, ["failure headTooLarge"])
    }

    @Test("of header fields: 431")
    func headerCount() {
        let stream = "GET / HTTP/1.1\r\nHost: x\r\nA: 1\r\nB: 2\r\n\r\n"
        verifyRequests(stream, limits: HTTPLimits(headerCountMax: 3), ["GET /", "end"])
        verifyRequests(stream, limits: HTTPLimits(headerCountMax: 2), ["failure tooManyHeaders"])
    }

    @Test("of body bytes: 413 at the head")
    func bodyBytes() {
        let stream = "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
        verifyRequests(
            stream, limits: HTTPLimits(bodyBytesMax: 5), ["PUT / length=5", "body hello", "end"])
        verifyRequests(stream, limits: HTTPLimits(bodyBytesMax: 4), ["failure bodyTooLarge"])
        verifyRequests(
            "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", limits: HTTPLimits(bodyBytesMax: 0),
            ["PUT / length=0", "end"])
    }

    @Test("of body bytes: 413 at the chunk that crosses it")
    func chunkedBodyBytes() {
        let stream = "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        verifyRequests(
            stream, limits: HTTPLimits(bodyBytesMax: 5), ["PUT / chunked", "body abcde", "end"])
        verifyRequests(
            stream, limits: HTTPLimits(bodyBytesMax: 4), ["PUT / chunked", "body abc", "failure bodyTooLarge"])
    }

    @Test("of chunk extensions and trailers, over the whole body: 431")
    func chunkFraming() {
        let head = "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        let size = head.utf8.count
        // Each ";e" counts 2, the trailer "T:vvv…" counts its bytes without the line end.
        let chunks = "1;e\r\na\r\n1;e\r\nb\r\n0\r\n"
        let trailer = "T:" + String(repeating: "v", count: size - 6)
        let limits = HTTPLimits(headBytesMax: size)
        verifyRequests("\(head)\(chunks)\(trailer)\r\n\r\n", limits: limits, ["PUT / chunked", "body ab", "end"])
        verifyRequests(
            "\(head)\(chunks)\(trailer)v\r\n\r\n", limits: limits,
            ["PUT / chunked", "body ab", "failure chunkFramingTooLarge"])
        let extensions = "1;" + String(repeating: "e", count: size - 1)
        verifyRequests(
            "\(head)\(extensions)\r\na\r\n0\r\n\r\n", limits: limits, ["PUT / chunked", "body a", "end"])
        verifyRequests(
            "\(head)\(extensions)e\r\na\r\n0\r\n\r\n", limits: limits,
            ["PUT / chunked", "failure chunkFramingTooLarge"])
    }

    @Test("of body bytes hold for a response that ends with its connection")
    func closeDelimitedBodyBytes() {
        let stream = "HTTP/1.1 200 OK\r\n\r\nhello"
        verifyResponses(
            stream, limits: HTTPLimits(bodyBytesMax: 5), closes: true, ["200 OK close", "body hello", "end"])
        verifyResponses(
            stream, limits: HTTPLimits(bodyBytesMax: 4), closes: true,
            ["200 OK close", "body hell", "failure bodyTooLarge"])
    }
}
