import HearthBench
import Testing

@Suite("The bodies of HTTP responses") struct HTTPRepliesTests {
    private static let responses = """
        HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello\
        HTTP/1.1 204 No Content\r\n\r\n\
        HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n
        """

    private func bodies(_ pieces: [some Collection<UInt8>]) throws -> [String] {
        var scanner = ReplyScanner<HTTPReplies>()
        var bodies: [String] = []
        for piece in pieces {
            try Array(piece).withUnsafeBytes { bytes in
                try scanner.scan(bytes) { bodies.append(String(decoding: $0, as: UTF8.self)) }
            }
        }
        #expect(scanner.pendingCount == 0)
        return bodies
    }

    @Test("are found in one piece and byte by byte")
    func pieces() throws {
        let bytes = Array(Self.responses.utf8)
        #expect(try bodies([bytes]) == ["hello", "", ""])
        #expect(try bodies(bytes.map { [$0] }) == ["hello", "", ""])
    }

    @Test("are not those of a refusal, or without a length")
    func refusals() {
        let refusals = [
            ("HTTP/1.1 503 Service Unavailable", "the server answered"),
            ("HTTP/1.1 200 OK", "an answer has no length:"),
        ]
        for (head, reason) in refusals {
            let error = #expect(throws: BenchError.self) { try bodies([Array("\(head)\r\n\r\n".utf8)]) }
            #expect(error?.message.hasPrefix(reason) == true, "\(String(describing: error))")
        }
    }
}
