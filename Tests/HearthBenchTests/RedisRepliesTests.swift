import HearthBench
import Testing

@Suite("Replies of Redis")
struct RedisRepliesTests {
    private static func scan(_ pieces: [ArraySlice<UInt8>]) throws -> (replies: [String], pending: Int) {
        var scanner = ReplyScanner<RedisReplies>()
        var found: [String] = []
        for piece in pieces {
            try piece.withUnsafeBytes { bytes in
                try scanner.scan(bytes) { (reply) throws(BenchError) in
                    found.append(String(decoding: reply, as: UTF8.self))
                }
            }
        }
        return (found, scanner.pendingCount)
    }

    @Test("are found wherever they are cut")
    func cuts() throws {
        let bytes = Array("+OK\r\n$5\r\na\r\nbc\r\n:12\r\n$0\r\n\r\n+PONG\r\n".utf8)
        for cut in 0...bytes.count {
            let (replies, pending) = try Self.scan([bytes[..<cut], bytes[cut...]])
            #expect(replies == ["OK", "a\r\nbc", "12", "", "PONG"], "cut at \(cut)")
            #expect(pending == 0, "cut at \(cut)")
        }
        #expect(try Self.scan([bytes.dropLast()]).pending == 6)
    }

    @Test("that are errors, or no value, fail the run")
    func errors() {
        let replies = [
            ("-ERR unknown command", "redis answered ERR unknown command"),
            ("$-1", "redis has no value for a key that was written"), ("?", "redis answered "),
        ]
        for (text, message) in replies {
            let error = #expect(throws: BenchError.self) { try Self.scan([Array("\(text)\r\n".utf8)[...]]) }
            #expect(error?.message == message)
        }
    }
}
