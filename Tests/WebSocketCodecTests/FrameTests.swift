import HearthTestSupport
import Testing
import HearthWebSocketCodec
import HearthServerCodecs

@Suite("Frames")
struct FrameTests {
    @Test("the examples of RFC 6455 section 5.7 are read")
    func examples() {
        let hello: [UInt8] = [0x48, 0x65, 0x6C, 0x6C, 0x6F]
        expect([0x81, 0x05] + hello, yields: [.text("Hello")])
        expect(
            [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58], yields: [.text("Hello")],
            Setting(role: .server))
        expect([0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F], yields: [.text("Hello")])
        expect([0x89, 0x05] + hello, yields: [.ping(hello)])
        expect(
            [0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58], yields: [.pong(hello)],
            Setting(role: .server))
        let long = (0..<65536).map { UInt8(truncatingIfNeeded: $0) }
        expect([0x82, 0x7E, 0x01, 0x00] + long[..<256], yields: [.message(.binary, Array(long[..<256]))])
        expect([0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + long, yields: [.message(.binary, long)])
    }

    @Test("the examples of RFC 6455 section 5.7 are written")
    func writtenExamples() {
        #expect(frame(.text, "Hello") == [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
        // The key 37 FA 21 3D, its first byte lowest.
        #expect(
            frame(.text, "Hello", key: MaskingKey(0x3D21_FA37))
                == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
        var fragments: [UInt8] = []
        FrameEncoder.appendFragments(.text, Array("Hello".utf8).span.bytes, fragmentSize: 3, to: &fragments)
        #expect(fragments == [0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F])
        #expect(frame(.ping, "Hello") == [0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
        let long = [UInt8](repeating: 7, count: 65536)
        #expect(frame(.binary, Array(long[..<256])).prefix(5) == [0x82, 0x7E, 0x01, 0x00, 7])
        #expect(frame(.binary, long).prefix(11) == [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0, 7])
    }

    @Test("lengths take the shortest form", arguments: [0, 1, 125, 126, 127, 65535, 65536])
    func lengths(count: Int) {
        let payload = [UInt8](repeating: 0x41, count: count)
        let headerSize = count < 126 ? 2 : count < 65536 ? 4 : 10
        #expect(frame(.text, payload).count == headerSize + count)
        expect(frame(.text, payload), yields: [.message(.text, payload)])
        let masked = frame(.text, payload, key: MaskingKey(0xDEAD_BEEF))
        #expect(masked.count == headerSize + 4 + count)
        expect(masked, yields: [.message(.text, payload)], Setting(role: .server))
    }

    @Test("what breaks the framing is refused")
    func refusals() {
        let table: [([UInt8], ProtocolViolation)] = [
            ([0xC1, 0x00], .reservedBits), ([0xA1, 0x00], .reservedBits), ([0x91, 0x00], .reservedBits),
            ([0xC9, 0x00], .reservedBits),
            ([0x83, 0x00], .unknownOpcode), ([0x87, 0x00], .unknownOpcode), ([0x8B, 0x00], .unknownOpcode),
            ([0x8F, 0x00], .unknownOpcode),
            ([0x09, 0x00], .fragmentedControlFrame), ([0x08, 0x00], .fragmentedControlFrame),
            ([0x89, 0x7E, 0x00, 0x7E], .controlFrameTooLong), ([0x88, 0x7F], .controlFrameTooLong),
            ([0x81, 0x85, 1, 2, 3, 4], .maskedFrame), ([0x89, 0x80], .maskedFrame),
            ([0x82, 0x7E, 0x00, 0x7D], .lengthNotMinimal),
            ([0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], .lengthNotMinimal),
            ([0x82, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 0], .lengthOutOfRange),
            ([0x80, 0x00], .unexpectedContinuation), ([0x00, 0x01], .unexpectedContinuation),
            (frame(.text, "a", isFinal: false) + frame(.text, "b"), .expectedContinuation),
            (frame(.text, "a", isFinal: false) + frame(.binary, "b", isFinal: false), .expectedContinuation),
            ([0x88, 0x01, 0x03], .truncatedCloseCode),
            (frame(.close, [0x03, 0xE8, 0xFF]), .closeReasonNotUTF8),
            (frame(.close, [0x03, 0xE8, 0xE2, 0x82]), .closeReasonNotUTF8),
        ]
        for (stream, violation) in table {
            let after = frame(.text, "not read")
            expect(stream + after, yields: [.failure(violation)], Setting(), "\(stream)")
        }
        let start = frame(.text, "a", isFinal: false) + frame(.continuation, "b") + frame(.continuation, "c")
        expect(start, yields: [.text("ab"), .failure(.unexpectedContinuation)])
        expect(frame(.text, "a"), yields: [.failure(.unmaskedFrame)], Setting(role: .server))
        expect([0x89, 0x00], yields: [.failure(.unmaskedFrame)], Setting(role: .server))
    }

    @Test("every violation has a code that may be sent and a reason that fits")
    func violations() {
        for violation in ProtocolViolation.allCases {
            #expect(violation.closeCode.mayBeSent)
            #expect(violation.reason.utf8.count <= 123)
        }
        #expect(ProtocolViolation.reservedBits.closeCode == .protocolError)
        #expect(ProtocolViolation.textNotUTF8.closeCode == .invalidPayload)
        #expect(ProtocolViolation.messageTooLarge.closeCode == .messageTooBig)
    }

    @Test("close codes are accepted by the ranges of RFC 6455 section 7.4")
    func closeCodes() {
        let valid = Set([1000...1003, 1007...1014, 3000...4999].joined())
        for code in [0...1020, 1099...1101, 1999...2001, 2998...3001, 4998...5001, 65534...65535].joined() {
            let stream: [UInt8] = [0x88, 0x02, UInt8(code >> 8), UInt8(code & 0xFF)]
            let received = receive(stream, cuts: [], Setting())
            let expected: Received =
                valid.contains(code)
                ? .close(CloseCode(rawValue: UInt16(code)), []) : .failure(.invalidCloseCode)
            #expect(received == [expected], "\(code)")
        }
    }

    @Test("a close frame ends the stream")
    func close() {
        expect([0x88, 0x00] + frame(.text, "late") + [0xFF], yields: [.close(nil, [])])
        var stream: [UInt8] = []
        FrameEncoder.appendClose(.goingAway, reason: "später", to: &stream)
        expect(stream + frame(.ping, "late"), yields: [.close(.goingAway, Array("später".utf8))])
    }

    @Test("close frames are written so that every peer accepts them")
    func writtenClose() {
        func close(_ code: CloseCode?, _ reason: String) -> [UInt8] {
            var bytes: [UInt8] = []
            FrameEncoder.appendClose(code, reason: reason, to: &bytes)
            return bytes
        }
        #expect(close(nil, "unused") == [0x88, 0x00])
        #expect(close(.normal, "") == [0x88, 0x02, 0x03, 0xE8])
        #expect(close(.noStatus, "x") == [0x88, 0x00])
        #expect(close(.abnormal, "") == [0x88, 0x00])
        // 123 bytes for the reason: 61 of two bytes, and no half.
        #expect(close(.normal, String(repeating: "ä", count: 100)).count == 2 + 2 + 122)
    }

    @Test("control frames come between the fragments of a message")
    func interleaved() {
        let stream =
            frame(.text, "Hel", isFinal: false) + frame(.ping, "1") + frame(.continuation, "", isFinal: false)
            + frame(.pong, "") + frame(.continuation, "lo") + frame(.binary, "") + frame(.text, "")
        expect(
            stream,
            yields: [.ping([0x31]), .pong([]), .text("Hello"), .message(.binary, []), .text("")])
    }

    @Test("sizes are limited as soon as a header tells them")
    func limits() {
        let setting = Setting(limits: .init(frameSizeMax: 300, messageSizeMax: 400))
        func payload(_ count: Int) -> [UInt8] { [UInt8](repeating: 0x41, count: count) }
        expect(frame(.text, payload(300)), yields: [.message(.text, payload(300))], setting)
        expect([0x82, 0x7E, 0x01, 0x2D], yields: [.failure(.frameTooLarge)], setting)
        expect(
            [0x82, 0x7F, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], yields: [.failure(.frameTooLarge)], setting)
        let start = frame(.binary, payload(300), isFinal: false)
        expect(start + frame(.continuation, payload(100)), yields: [.message(.binary, payload(400))], setting)
        expect(start + [0x80, 0x65], yields: [.failure(.messageTooLarge)], setting)
        let many = (0..<4).flatMap { frame($0 == 0 ? .binary : .continuation, payload(100), isFinal: false) }
        expect(many + [0x00, 0x01], yields: [.failure(.messageTooLarge)], setting)
    }

    @Test("a frame that lies whole in the input is handed out where it lies")
    func noCopy() {
        var decoder = Setting(role: .server).makeDecoder()
        var stream = frame(.text, "Hello", key: MaskingKey(0x0102_0304))
        stream += frame(.ping, "?", key: MaskingKey(0x0506_0708))
        stream.withUnsafeMutableBytes { buffer in
            var input = buffer
            guard case .message(.text, let bytes)? = decoder.next(&input) else { return #expect(Bool(false)) }
            #expect(bytes.baseAddress == UnsafeRawPointer(buffer.baseAddress?.advanced(by: 6)))
            guard case .ping(let ping)? = decoder.next(&input) else { return #expect(Bool(false)) }
            #expect(ping.baseAddress == UnsafeRawPointer(buffer.baseAddress?.advanced(by: 17)))
        }
    }

    @Test("memory is held only while a frame or a message is incomplete")
    func idleMemory() {
        var decoder = Setting().makeDecoder()
        let stream =
            frame(.text, "Hel", isFinal: false) + frame(.ping, "12") + frame(.continuation, "lo") + frame(.text, "x")
        for cut in 0...stream.count {
            _ = decoder.receive(stream[..<cut])
            // From the first byte of the first fragment's payload to the last byte of the last one's.
            #expect((decoder.heapBytes > 0) == (3..<13).contains(cut), "cut \(cut)")
            _ = decoder.receive(stream[cut...])
            #expect(decoder.heapBytes == 0, "cut \(cut)")
        }
        // Announcing a large frame costs nothing yet.
        _ = decoder.receive([0x82, 0x7F, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF] + [1])
        #expect(decoder.heapBytes <= 16 << 10)
    }

    @Test("control payloads over 125 bytes are cut off when written")
    func longControl() {
        let payload = [UInt8](repeating: 1, count: 200)
        expect(frame(.ping, payload), yields: [.ping(Array(payload[..<125]))])
    }

    @Test("masking is undone at every offset of the key", arguments: 0..<40)
    func masking(count: Int) {
        var random = SeededRandom(seed: UInt64(count))
        let payload = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        let key = UInt32.random(in: 0...UInt32.max, using: &random)
        let stream = frame(.binary, payload, key: MaskingKey(key))
        let keyBytes = stream[2..<6]
        let expected = payload.indices.map { payload[$0] ^ keyBytes[2 + $0 % 4] }
        #expect(stream[6...] == expected[...])
        for cut in stream.indices {
            let received = receive(stream, cuts: [cut], Setting(role: .server))
            #expect(received == [.message(.binary, payload)], "cut \(cut)")
        }
    }
}
