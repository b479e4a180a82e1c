import HearthBytes
import HearthTestSupport
import Testing
import HearthWireProtocol
import HearthServerProtocol

@Suite("Segments of long polling")
struct SegmentJoinerTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// The message of one segment.
    private func message(_ text: String) throws(MessageError) -> [UInt8]? {
        var joiner = SegmentJoiner(bytesMax: 1000)
        _ = joiner.add(0, of: 1, bytes(text)[...])
        return try joiner.nextMessage()
    }

    @Test(
        "a message is Base64 for URLs, padded with dots or not at all (RFC 4648 section 10)",
        arguments: [
            ("", ""), ("Zg..", "f"), ("Zm8.", "fo"), ("Zm9v", "foo"), ("Zm9vYg..", "foob"), ("Zm9vYmE.", "fooba"),
            ("Zm9vYmFy", "foobar"), ("Zg", "f"), ("Zm8", "fo"), ("77-_", "\u{FFFF}"),
        ])
    func base64(text: String, expected: String) throws {
        #expect(try message(text) == bytes(expected))
    }

    @Test(
        "other text is an error",
        arguments: ["Z", "Zm9vZ", "Zm9v+/==", "Zm 9", "Zm9!", "Zg...", ".Zg", "Z.g.", "Zm9vé"])
    func malformed(text: String) {
        #expect(throws: MessageError(reason: "a packet is not Base64 with the alphabet for URLs")) {
            _ = try message(text)
        }
    }

    @Test(
        "segments in any order, some of them again, become the messages in order",
        arguments: 1...20 as ClosedRange<UInt64>)
    func order(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let messages = (0..<10).map { _ in
            (0..<Int(random.next() % 300)).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        var segments: [(number: Int, count: Int, text: [UInt8])] = []
        for message in messages {
            let text = Self.encode(message)
            let size = Int(random.next() % 50) + 1
            let slices =
                text.isEmpty
                ? [[]] : stride(from: 0, to: text.count, by: size).map { Array(text[$0..<min($0 + size, text.count)]) }
            for slice in slices { segments.append((segments.count, slices.count, slice)) }
        }
        segments += segments.prefix(5)
        segments.shuffle(using: &random)
        var joiner = SegmentJoiner(bytesMax: 1 << 20)
        var received: [[UInt8]] = []
        for segment in segments {
            let isTaken = joiner.add(segment.number, of: segment.count, segment.text[...])
            #expect(isTaken, "seed \(seed)")
            while let message = try joiner.nextMessage() { received.append(message) }
        }
        #expect(received == messages, "seed \(seed)")
        #expect(joiner.byteCount == 0, "seed \(seed)")
    }

    @Test("segments are bounded, and numbers must make sense")
    func limits() throws {
        var joiner = SegmentJoiner(bytesMax: 1000)
        var taken = [joiner.add(-1, of: 1, []), joiner.add(0, of: 0, [])]
        taken.append(joiner.add(0, of: 9, [UInt8](repeating: 65, count: 500)[...]))
        let message = try joiner.nextMessage()
        #expect(message == nil)
        #expect(joiner.byteCount == 500)
        // One that is far ahead waits, and takes more than its text.
        taken.append(joiner.add(1 << 40, of: 1, [UInt8](repeating: 65, count: 400)[...]))
        taken.append(joiner.add(7, of: 9, [UInt8](repeating: 65, count: 50)[...]))
        #expect(taken == [false, false, true, true, false])
    }

    private static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text = Base64.url.encode(bytes)
        while text.count % 4 != 0 { text.append(UInt8(ascii: ".")) }
        return text
    }
}
