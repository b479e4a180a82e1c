import HearthJSONTree
import HearthTestSupport
import Testing
import HearthWireProtocol

@Suite("Frames of a message")
struct MessageFramesTests {
    /// The frames that a message is sent in (Protocol.md 3.2).
    private func frames(of message: [UInt8]) -> [[UInt8]] {
        let ranges = message.withBytes { MessageChunks.ranges(of: $0) }
        let chunks = ranges.map { Array(message[$0]) }
        return chunks.count > 1 ? [Array(String(chunks.count).utf8)] + chunks : chunks
    }

    /// The output of a joiner that is fed with frames, and whether it gave up.
    private func join(_ frames: [[UInt8]], bytesMax: Int = 1 << 20) -> (messages: [[UInt8]], isTooLarge: Bool) {
        var joiner = FrameJoiner(bytesMax: bytesMax)
        var messages: [[UInt8]] = []
        for frame in frames {
            let result = frame.withBytes { joiner.add($0) }
            switch result {
            case .message: messages.append(frame)
            case .joined: messages.append(joiner.takeMessage())
            case .more: break
            case .tooLarge: return (messages, true)
            }
        }
        return (messages, false)
    }

    private func text(_ character: Character, _ count: Int) -> [UInt8] {
        Array(String(repeating: character, count: count).utf8)
    }

    // MARK: Cutting

    @Test(
        "a message up to 16384 UTF-16 units is one frame, whatever its bytes",
        arguments: ["a", "é", "あ", "😀"] as [Character])
    func oneFrame(character: Character) {
        let units = String(character).utf16.count
        let exact = text(character, 16384 / units)
        #expect(frames(of: exact) == [exact])
        let over = exact + text(character, 1)
        #expect(frames(of: over) == [Array("2".utf8), exact, text(character, 1)])
    }

    @Test("an empty message is one empty frame")
    func empty() {
        #expect(frames(of: []) == [[]])
    }

    @Test("no chunk ends inside a character, and each but the last is full", arguments: 0..<30)
    func cutting(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let pool: [Character] = ["a", "é", "あ", "😀"]
        let count = Int.random(in: 0...60_000, using: &random)
        let message = String((0..<count).map { _ in pool[Int.random(in: 0..<4, using: &random)] })
        let bytes = Array(message.utf8)
        let ranges = bytes.withBytes { MessageChunks.ranges(of: $0) }
        #expect(ranges.first?.lowerBound == 0, "seed \(seed)")
        #expect(ranges.last?.upperBound == bytes.count, "seed \(seed)")
        for (range, next) in zip(ranges, ranges.dropFirst()) {
            let chunk = try #require(String(validating: bytes[range], as: UTF8.self), "seed \(seed)")
            #expect((16383...16384).contains(chunk.utf16.count), "seed \(seed)")
            #expect(range.upperBound == next.lowerBound, "seed \(seed)")
        }
        #expect(join(frames(of: bytes)).messages == [bytes], "seed \(seed)")
    }

    @Test("pieces of any length are cut as the whole", arguments: 0..<30)
    func cuttingPieces(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let message = String((0..<30_000).map { _ in Character(["a", "é", "😀"].randomElement(using: &random) ?? "a") })
        let whole = Array(message.utf8).withBytes { MessageChunks.ranges(of: $0) }.map(\.count)
        var cutter = ChunkCutter()
        var chunks = [0]
        var rest = message[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(Int.random(in: 1...9000, using: &random)))
            rest = rest.dropFirst(piece.count)
            var bytes = Array(String(piece).utf8)[...]
            while !bytes.isEmpty {
                let taken = Array(bytes).withBytes { cutter.take($0) }
                chunks[chunks.count - 1] += taken
                bytes = bytes.dropFirst(taken)
                if bytes.isEmpty { break }
                chunks.append(0)
                cutter = ChunkCutter()
            }
        }
        #expect(chunks == whole, "seed \(seed)")
    }

    @Test("bytes that are no UTF-8 are cut without a trap")
    func invalidUTF8() {
        for byte in [0x80, 0xBF, 0xC3, 0xE3, 0xF0, 0xFF] as [UInt8] {
            let message = [UInt8](repeating: byte, count: 70_001)
            let ranges = message.withBytes { MessageChunks.ranges(of: $0) }
            #expect(ranges.reduce(0) { $0 + $1.count } == message.count)
            #expect(!ranges.contains { $0.isEmpty })
        }
    }

    // MARK: Joining

    @Test("a frame that is no count is a message", arguments: ["{}", "1234567", "-1", "1x", "", " 1", "+1", "1.0"])
    func whole(frame: String) {
        #expect(join([Array(frame.utf8)]).messages == [Array(frame.utf8)])
    }

    @Test("a keep-alive is nothing between messages and data inside of one")
    func keepAlive() {
        let frames = ["0", "{}", "0", "3", "0", "12", "0", "0", "[]"].map { Array($0.utf8) }
        #expect(join(frames).messages == ["{}", "0120", "[]"].map { Array($0.utf8) })
    }

    @Test("a count of one is legal")
    func countOfOne() {
        #expect(
            join(["1", "{\"a\":1}", "{}"].map { Array($0.utf8) }).messages
                == ["{\"a\":1}", "{}"].map { Array($0.utf8) })
    }

    @Test("what is cut anywhere is joined again, bytes inside of characters included", arguments: 0..<50)
    func joining(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var frames: [[UInt8]] = []
        var expected: [[UInt8]] = []
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let message = Array(
                ("{\"é\":\"" + String(repeating: "😀é", count: Int.random(in: 0...400, using: &random)) + "\"}").utf8)
            expected.append(message)
            if Bool.random(using: &random) { frames.append(Array("0".utf8)) }
            let cuts = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                Int.random(in: 0...message.count, using: &random)
            }
            let bounds = [0] + cuts.sorted() + [message.count]
            frames.append(Array(String(bounds.count - 1).utf8))
            for (start, end) in zip(bounds, bounds.dropFirst()) { frames.append(Array(message[start..<end])) }
        }
        #expect(join(frames).messages == expected, "seed \(seed)")
    }

    // MARK: The C++ SDK

    /// A JSON object of exactly `count` bytes.
    private func object(bytes count: Int) -> [UInt8] {
        Array("{\"a\":\"".utf8) + text("x", count - 8) + Array("\"}".utf8)
    }

    @Test("a count that is one too high for a multiple of the chunk size is seen through", arguments: 1...3)
    func miscounted(chunks: Int) {
        let message = object(bytes: chunks * 16384)
        var frames = [Array(String(chunks + 1).utf8)]
        for index in 0..<chunks { frames.append(Array(message[(index * 16384)..<((index + 1) * 16384)])) }
        let next = Array("{\"b\":2}".utf8)
        #expect(join(frames + [next, Array("0".utf8)]).messages == [message, next])
    }

    @Test("a text that is not complete at that place gets its last chunk")
    func notMiscounted() {
        let message = object(bytes: 2 * 16384 + 5)
        let frames = [Array("3".utf8)] + [0..<16384, 16384..<32768, 32768..<32773].map { Array(message[$0]) }
        #expect(join(frames).messages == [message])
        // Ends with a brace at that place, but inside a string.
        let tricky = Array("{\"a\":\"".utf8) + text("x", 16384 - 7) + Array("}\"}".utf8)
        #expect(tricky[16383] == UInt8(ascii: "}"))
        #expect(join([Array("2".utf8), Array(tricky[..<16384]), Array(tricky[16384...])]).messages == [tricky])
    }

    // MARK: Limits

    @Test("a message may have its limit of bytes and no more")
    func limits() {
        let exact = text("x", 5000)
        #expect(join([exact], bytesMax: 5000).messages == [exact])
        #expect(join([exact + exact], bytesMax: 5000).isTooLarge)
        let parts = [Array("2".utf8), Array(exact[..<3000]), Array(exact[3000...])]
        #expect(join(parts, bytesMax: 5000).messages == [exact])
        #expect(join(parts, bytesMax: 4999) == ([], true))
    }

    @Test("a count that no message of the limit could need is refused at once")
    func countLimit() {
        #expect(join([Array("999999".utf8)], bytesMax: 17 << 20).isTooLarge)
        // The most that the SDKs' chunks come to, and some more for those that cut smaller ones.
        #expect(!join([Array("17408".utf8)], bytesMax: 17 << 20).isTooLarge)
    }
}
