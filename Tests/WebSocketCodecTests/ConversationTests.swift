import HearthTestSupport
import Testing
import HearthWebSocketCodec
import HearthServerCodecs

/// Both roles against each other: what one writes at random, the other reads.
@Suite("Conversations")
struct ConversationTests {
    @Test("messages survive any fragmentation, masking and splitting, with control frames between", arguments: 0..<60)
    func uncompressed(seed: UInt64) {
        converse(seed: seed, deflate: nil)
    }

    static let parameters: [DeflateParameters] = [true, false].flatMap { server in
        [true, false].flatMap { client in
            [9, 10, 15].flatMap { serverBits in
                [8, 11, 15].map { clientBits in
                    DeflateParameters(
                        server: .init(noContextTakeover: server, windowBits: serverBits),
                        client: .init(noContextTakeover: client, windowBits: clientBits))
                }
            }
        }
    }

    @Test("messages survive compression with any parameters", arguments: Array(parameters.enumerated()))
    func compressed(index: Int, parameters: DeflateParameters) {
        for seed in 0..<4 as Range<UInt64> {
            converse(seed: UInt64(index) * 1000 + seed, deflate: parameters)
        }
    }

    private func converse(seed: UInt64, deflate: DeflateParameters?) {
        for sender in [WebSocketRole.server, .client] {
            var random = SeededRandom(seed: seed)
            var expected: [Received] = []
            // A client that must not use more than 256 bytes of window cannot compress with zlib.
            let outgoing = deflate?.outgoing(sender)
            let deflater = outgoing.flatMap {
                $0.windowBits < DeflateParameters.windowBitsMin ? nil : Deflater($0, level: 1)
            }
            var stream: [UInt8] = []
            for _ in 0..<12 {
                write(from: sender, deflater, to: &stream, expecting: &expected, using: &random)
            }
            let cuts = (0..<random.next() % 20).map { _ in Int.random(in: 0...stream.count, using: &random) }.sorted()
            let receiver: WebSocketRole = sender == .server ? .client : .server
            let received = receive(stream, cuts: cuts, Setting(role: receiver, deflate: deflate))
            #expect(received == expected, "seed \(seed) from \(sender) with \(String(describing: deflate))")
        }
    }

    private func write(
        from sender: WebSocketRole, _ deflater: Deflater?, to stream: inout [UInt8],
        expecting expected: inout [Received], using random: inout SeededRandom
    ) {
        let message = randomMessage(using: &random)
        let kind: MessageKind = String(validating: message, as: UTF8.self) == nil ? .binary : .text
        var payload = message
        let isCompressed = deflater != nil && Bool.random(using: &random)
        if let deflater, isCompressed { payload = deflater.compress(message) }
        // Fragments of random sizes, among them empty ones, and pings and pongs between them.
        var start = 0
        var isFirst = true
        var isFinal = false
        while !isFinal {
            let size = Int.random(in: 0...max(payload.count, 1), using: &random)
            let end = min(start + size, payload.count)
            isFinal = end == payload.count && Bool.random(using: &random)
            FrameEncoder.append(
                isFirst ? kind.opcode : .continuation, payload.span.bytes.extracting(start..<end),
                isFinal: isFinal, isCompressed: isCompressed && isFirst, key: key(sender, &random), to: &stream)
            (start, isFirst) = (end, false)
            if !isFinal, Bool.random(using: &random) {
                let data = [UInt8](repeating: 0xFF, count: Int.random(in: 0...125, using: &random))
                let isPing = Bool.random(using: &random)
                FrameEncoder.append(isPing ? .ping : .pong, data.span.bytes, key: key(sender, &random), to: &stream)
                expected.append(isPing ? .ping(data) : .pong(data))
            }
        }
        expected.append(.message(kind, message))
    }

    private func key(_ sender: WebSocketRole, _ random: inout SeededRandom) -> MaskingKey? {
        sender == .client ? MaskingKey(UInt32.random(in: 0...UInt32.max, using: &random)) : nil
    }

    private func randomMessage(using random: inout SeededRandom) -> [UInt8] {
        let count = 1 << Int.random(in: 0...11, using: &random)
        let size = Int.random(in: 0..<count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            return (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
        case 1:
            let letters = Array("aäß漢😀 {\"}:,")
            return Array(String((0..<size).map { _ in letters.randomElement(using: &random) ?? " " }).utf8)
        default:
            return (0..<size / 20).flatMap { Array(#"{"k\#($0)":\#(random.next() % 100)},"#.utf8) }
        }
    }
}
