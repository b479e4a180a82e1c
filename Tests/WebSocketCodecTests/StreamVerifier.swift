import HearthTestSupport
import Testing
import HearthWebSocketCodec

/// An event of the decoder with bytes of its own.
enum Received: Equatable {
    case message(MessageKind, [UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(CloseCode?, [UInt8])
    case failure(ProtocolViolation)

    init(_ event: WebSocketDecoder.Event) {
        switch event {
        case .message(let kind, let bytes): self = .message(kind, Array(bytes))
        case .ping(let bytes): self = .ping(Array(bytes))
        case .pong(let bytes): self = .pong(Array(bytes))
        case .close(let code, let reason): self = .close(code, Array(reason))
        case .failure(let violation): self = .failure(violation)
        }
    }

    static func text(_ text: String) -> Received { .message(.text, Array(text.utf8)) }
}

/// How the decoder under test is made.
struct Setting {
    var role = WebSocketRole.client
    var limits = WebSocketDecoder.Limits(frameSizeMax: 1 << 24, messageSizeMax: 1 << 24)
    var deflate: DeflateParameters?
    var validatesUTF8 = true

    func makeDecoder() -> WebSocketDecoder {
        WebSocketDecoder(role: role, limits: limits, deflate: deflate, validatesUTF8: validatesUTF8)
    }
}

extension WebSocketDecoder {
    /// Feeds one piece from memory that is spoiled afterwards, so that nothing may be kept in it.
    mutating func receive(_ piece: ArraySlice<UInt8>) -> [Received] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece.count, alignment: 1)
        defer {
            buffer.initializeMemory(as: UInt8.self, repeating: 0xA5)
            buffer.deallocate()
        }
        buffer.copyBytes(from: piece)
        var input = buffer
        var events: [Received] = []
        while let event = next(&input) { events.append(Received(event)) }
        #expect(input.isEmpty)
        return events
    }

    mutating func receive(_ bytes: [UInt8]) -> [Received] { receive(bytes[...]) }
}

/// What comes of `stream` when it is cut before each index of `cuts`, which ascend.
func receive(_ stream: [UInt8], cuts: [Int], _ setting: Setting) -> [Received] {
    var decoder = setting.makeDecoder()
    var events: [Received] = []
    var start = 0
    for end in cuts + [stream.count] {
        events += decoder.receive(stream[start..<end])
        start = end
    }
    return events
}

/// Checks that `stream` yields `expected` whole, byte by byte and cut at random.
func expect(
    _ stream: [UInt8], yields expected: [Received], _ setting: Setting = Setting(), _ comment: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let whole = receive(stream, cuts: [], setting)
    #expect(whole == expected, "whole \(comment)", sourceLocation: sourceLocation)
    let bytewise = receive(stream, cuts: Array(stream.indices.dropFirst()), setting)
    #expect(bytewise == expected, "byte by byte \(comment)", sourceLocation: sourceLocation)
    for seed in 0..<8 as Range<UInt64> {
        var random = SeededRandom(seed: seed)
        let cuts = (0..<random.next() % 6).map { _ in Int.random(in: 0...stream.count, using: &random) }.sorted()
        let pieces = receive(stream, cuts: cuts, setting)
        #expect(pieces == expected, "cut by seed \(seed) at \(cuts) \(comment)", sourceLocation: sourceLocation)
    }
}

/// Frames as an encoder writes them.
func frame(
    _ opcode: Opcode, _ payload: [UInt8], isFinal: Bool = true, isCompressed: Bool = false, key: MaskingKey? = nil
) -> [UInt8] {
    var bytes: [UInt8] = []
    FrameEncoder.append(
        opcode, payload.span.bytes, isFinal: isFinal, isCompressed: isCompressed, key: key, to: &bytes)
    return bytes
}

func frame(_ opcode: Opcode, _ text: String, isFinal: Bool = true, key: MaskingKey? = nil) -> [UInt8] {
    frame(opcode, Array(text.utf8), isFinal: isFinal, key: key)
}
