import HearthTestSupport
import Testing
import HearthWebSocketCodec
import HearthServerCodecs

extension Deflater {
    /// The compressed payload of a message.
    func compress(_ message: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) -> [UInt8] {
        var payload: [UInt8] = []
        #expect(compress(message.span.bytes, to: &payload), sourceLocation: sourceLocation)
        return payload
    }

    func compress(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) -> [UInt8] {
        compress(Array(text.utf8), sourceLocation: sourceLocation)
    }
}

@Suite("permessage-deflate")
struct DeflateTests {
    private static let plain = Setting(deflate: DeflateParameters())

    @Test("the examples of RFC 7692 section 7.2.3 are read")
    func examples() {
        let one: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
        expect([0xC1, 0x07] + one, yields: [.text("Hello")], Self.plain)
        expect([0x41, 0x03] + one[..<3] + [0x80, 0x04] + one[3...], yields: [.text("Hello")], Self.plain)
        // The second message refers to the first, or comes as it did.
        let takeover: [UInt8] = [0xF2, 0x00, 0x11, 0x00, 0x00]
        expect([0xC1, 0x07] + one + [0xC1, 0x05] + takeover, yields: [.text("Hello"), .text("Hello")], Self.plain)
        expect([0xC1, 0x07] + one + [0xC1, 0x07] + one, yields: [.text("Hello"), .text("Hello")], Self.plain)
        // A block without compression, a block marked as the last, two blocks, and nothing at all.
        let stored: [UInt8] = [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]
        expect([0xC1, 0x0B] + stored, yields: [.text("Hello")], Self.plain)
        let final: [UInt8] = [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]
        expect([0xC1, 0x08] + final, yields: [.text("Hello")], Self.plain)
        expect([0xC1, 0x08] + final + [0xC1, 0x05] + takeover, yields: [.text("Hello"), .text("Hello")], Self.plain)
        let two: [UInt8] = [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00]
        expect([0xC1, 0x0D] + two, yields: [.text("Hello")], Self.plain)
        expect([0xC1, 0x01, 0x00], yields: [.text("")], Self.plain)
    }

    @Test("the examples of RFC 7692 section 7.2.3 are written")
    func writtenExamples() {
        func compress(_ texts: [String], noContextTakeover: Bool) -> [[UInt8]] {
            let deflater = Deflater(.init(noContextTakeover: noContextTakeover))
            return texts.map { deflater.compress($0) }
        }
        let one: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
        #expect(compress(["Hello", "Hello"], noContextTakeover: true) == [one, one])
        #expect(compress(["Hello", "Hello"], noContextTakeover: false) == [one, [0xF2, 0x00, 0x11, 0x00, 0x00]])
        #expect(compress(["", "", "Hello", ""], noContextTakeover: false) == [[0x00], [0x00], one, [0x00]])
    }

    @Test("only the first frame of a message is marked, and plain messages pass between compressed ones")
    func marks() {
        let one: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
        let compressed = frame(.text, one, isCompressed: true)
        expect(
            compressed + frame(.text, "plain") + frame(.ping, "") + compressed,
            yields: [.text("Hello"), .text("plain"), .ping([]), .text("Hello")], Self.plain)
        let start = frame(.text, Array(one[..<3]), isFinal: false, isCompressed: true)
        expect(start + [0xC0, 0x04] + one[3...], yields: [.failure(.reservedBits)], Self.plain)
        for opcode: UInt8 in [0xC8, 0xC9, 0xCA] {
            expect([opcode, 0x00], yields: [.failure(.reservedBits)], Self.plain)
        }
        expect(compressed, yields: [.failure(.reservedBits)], Setting(deflate: nil))
    }

    @Test("damaged or truncated data fails")
    func damaged() {
        let broken: [[UInt8]] = [
            // A block of the reserved type, a stored block whose lengths disagree, a distance before the beginning.
            [0x06], [0x00, 0x05, 0x00, 0x00, 0x00, 0x48], [0xF2, 0x00, 0x11, 0x00, 0x00],
            // Half a stored block; half of Huffman codes; a final block without what must follow it.
            [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48], [0xF2, 0x48, 0xCD], [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], [],
        ]
        for payload in broken {
            let stream = frame(.binary, payload, isCompressed: true) + frame(.ping, "not read")
            expect(stream, yields: [.failure(.invalidDeflateData)], Self.plain, "\(payload)")
        }
    }

    @Test("text is checked after decompression, as soon as it is known")
    func utf8() {
        let payload = Deflater(.init()).compress([0x41, 0xE2, 0x28])
        expect(frame(.text, payload, isCompressed: true), yields: [.failure(.textNotUTF8)], Self.plain)
        expect(
            frame(.binary, payload, isCompressed: true), yields: [.message(.binary, [0x41, 0xE2, 0x28])], Self.plain)
        // The rest of the message never comes.
        var decoder = Self.plain.makeDecoder()
        let start = frame(.text, payload, isFinal: false, isCompressed: true)
        #expect(decoder.receive(start) == [.failure(.textNotUTF8)])
    }

    @Test("a message that would expand beyond the limit fails while it is read", arguments: [true, false])
    func bomb(byteByByte: Bool) {
        let limit = 1 << 20
        let setting = Setting(
            limits: .init(frameSizeMax: 1 << 24, messageSizeMax: limit), deflate: DeflateParameters())
        let deflater = Deflater(.init(noContextTakeover: true), level: 9)
        func compressed(_ count: Int) -> [UInt8] {
            frame(.binary, deflater.compress([UInt8](repeating: 0, count: count)), isCompressed: true)
        }
        let fits = compressed(limit)
        #expect(receive(fits, cuts: [], setting) == [.message(.binary, [UInt8](repeating: 0, count: limit))])
        #expect(receive(compressed(limit + 1), cuts: [], setting) == [.failure(.messageTooLarge)])

        let bomb = compressed(16 * limit)
        #expect(bomb.count < limit / 32)
        var decoder = setting.makeDecoder()
        var failedAt: Int?
        var heapMax = 0
        let step = byteByByte ? 1 : 2048
        for start in stride(from: 0, to: bomb.count, by: step) {
            let events = decoder.receive(bomb[start..<min(start + step, bomb.count)])
            heapMax = max(heapMax, decoder.heapBytes)
            if events == [.failure(.messageTooLarge)] { failedAt = failedAt ?? start }
        }
        #expect(failedAt.map { $0 < bomb.count / 8 } == true)
        #expect(heapMax <= limit + 1 + (64 << 10))
        #expect(decoder.heapBytes == 0)
    }

    @Test("between messages only a window that is agreed on is kept")
    func idleMemory() {
        let stream = frame(.binary, Deflater(.init()).compress([1, 2, 3]), isCompressed: true)
        for (noContextTakeover, bits, heap) in [(true, 15, 0), (false, 15, 39 << 10), (false, 10, 8 << 10)] {
            let parameters = DeflateParameters(
                server: .init(noContextTakeover: noContextTakeover, windowBits: bits))
            var decoder = Setting(deflate: parameters).makeDecoder()
            #expect(decoder.heapBytes == 0)
            #expect(decoder.receive(stream) == [.message(.binary, [1, 2, 3])])
            #expect(decoder.heapBytes == heap)
        }
    }

    @Test("a payload compressed once is for those who agreed to no less")
    func serves() {
        func agreed(_ noContextTakeover: Bool, _ bits: Int) -> DeflateParameters {
            DeflateParameters(
                server: .init(noContextTakeover: noContextTakeover, windowBits: bits),
                client: .init(noContextTakeover: !noContextTakeover, windowBits: 15))
        }
        let once = Deflater(.init(noContextTakeover: true, windowBits: 12))
        #expect(once.serves(agreed(true, 12), from: .server))
        #expect(once.serves(agreed(true, 15), from: .server))
        #expect(!once.serves(agreed(true, 11), from: .server))
        #expect(!once.serves(agreed(false, 15), from: .server))
        #expect(once.serves(agreed(false, 12), from: .client))
        #expect(!Deflater(.init(windowBits: 12)).serves(agreed(true, 15), from: .server))

        var random = SeededRandom(seed: 12)
        // What the predicate promises: every such peer reads the same bytes, regardless of earlier ones.
        let texts = (0..<20).map { #"{"t":"d","d":{"r":\#($0),"a":"p","b":{"p":"/rooms/\#($0 % 3)"}}}"# }
        for bits in [12, 13, 15] {
            var decoder = Setting(deflate: agreed(true, bits)).makeDecoder()
            for text in texts.shuffled(using: &random) {
                let payload = once.compress(text)
                #expect(payload.count < text.utf8.count)
                #expect(decoder.receive(frame(.text, payload, isCompressed: true)) == [.text(text)])
            }
        }
    }

    @Test("a compressor that was released continues without its context")
    func release() {
        let deflater = Deflater(.init())
        var decoder = Self.plain.makeDecoder()
        for round in 0..<6 {
            let stream = frame(.text, deflater.compress("Hello Hello"), isCompressed: true)
            #expect(decoder.receive(stream) == [.text("Hello Hello")])
            if round % 2 == 1 { deflater.release() }
        }
    }

    @Test("large messages of every kind of content survive", arguments: [9, 12, 15])
    func large(bits: Int) {
        var random = SeededRandom(seed: UInt64(bits))
        let noise = (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        let words = (0..<30_000).flatMap { _ in Array("word\(UInt8.random(in: 0...99, using: &random)) ".utf8) }
        let direction = DeflateParameters.Direction(windowBits: bits)
        let deflater = Deflater(direction, memoryLevel: 1)
        var decoder = Setting(deflate: DeflateParameters(server: direction)).makeDecoder()
        for message in [noise, words, noise + words, [UInt8](repeating: 9, count: 300_000)] {
            let stream = frame(.binary, deflater.compress(message), isCompressed: true)
            #expect(decoder.receive(stream) == [.message(.binary, message)])
        }
    }
}
