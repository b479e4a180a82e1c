import HearthRealtimeDatabase
import HearthTestSupport
import HearthWireProtocol
import Testing

@testable import HearthRealtimeSessions

@Suite("Output of long polling")
struct PollOutputTests {
    @Test("messages that come whole or in parts are whole in packets", arguments: 1...20 as ClosedRange<UInt64>)
    func packets(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var output = PollOutput()
        var expected = ""
        var written = ""
        for _ in 0..<30 {
            let count = random.next() % 3 == 0 ? Int(random.next() % 40_000) : Int(random.next() % 20)
            let character = ["a", "é", "😀"][Int(random.next() % 3)]
            let message = #"{"t":"d","d":""# + String(repeating: character, count: count) + #""}"#
            written += (written.isEmpty ? "" : ",") + message
            Array(message.utf8).withUnsafeBytes { bytes in
                for part in MessageChunks.ranges(of: bytes) {
                    output.append(UnsafeRawBufferPointer(rebasing: bytes[part]))
                    // A message that is not complete stays.
                    if random.next() % 4 == 0, output.hasMessages { take(from: &output, &expected) }
                }
            }
            #expect(output.isIncomplete, "seed \(seed)")
            output.endMessage()
            #expect(!output.isIncomplete, "seed \(seed)")
        }
        if output.hasMessages { take(from: &output, &expected) }
        #expect(expected == written, "seed \(seed)")
        #expect(output.byteCount == 0, "seed \(seed)")
        #expect(!output.hasMessages, "seed \(seed)")
    }

    private func take(from output: inout PollOutput, _ text: inout String) {
        let number = output.packetCount
        let packet = String(decoding: output.takePacket(), as: UTF8.self)
        let prefix = "pRTLPCB(\(number),["
        #expect(packet.hasPrefix(prefix))
        #expect(packet.hasSuffix("]);\n"))
        text += (text.isEmpty ? "" : ",") + packet.dropFirst(prefix.count).dropLast(4)
    }

    @Test(
        "what a script must not hold is escaped",
        arguments: [
            ("</script>", #"\u003c/script>"#), ("\u{2028}", #"\u2028"#), ("a\u{2029}b", #"a\u2029b"#),
            ("\u{2027}\u{202A}", "\u{2027}\u{202A}"), ("â", "â"), ("<\u{2028}<", #"\u003c\u2028\u003c"#),
        ])
    func escapes(text: String, expected: String) {
        var output = PollOutput()
        Array("{\"d\":\"\(text)\"}".utf8).withUnsafeBytes { output.append($0) }
        output.endMessage()
        let packets = [output.takePacket(), output.takePacket()].map { String(decoding: $0, as: UTF8.self) }
        #expect(packets == ["pRTLPCB(0,[{\"d\":\"\(expected)\"}]);\n", "pRTLPCB(1,[]);\n"])
    }

    @Test("a session is found again by its token, and by no other")
    func tokens() throws {
        for (loop, serial) in [(0, 0), (63, 1 << 48 - 1), (5, 123_456_789)] as [(Int, UInt64)] {
            let connection = ConnectionID(loop: loop, kind: .realtime, serial: serial)
            let token = SessionToken(connection)
            #expect(token.text.count == SessionToken.textCount)
            let read = try #require(SessionToken(token.text))
            #expect(read == token)
            #expect(read.connection == connection)
            #expect(read.text == token.text)
            #expect(SessionToken(connection) != token)
            var other = token.text
            other[23] = other[23] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(SessionToken(other) != token)
        }
        #expect(SessionToken("short".utf8) == nil)
        #expect(SessionToken(String(repeating: "!", count: 24).utf8) == nil)
    }
}
