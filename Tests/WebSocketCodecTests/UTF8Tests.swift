import HearthTestSupport
import Testing
import HearthWebSocketCodec
import HearthServerCodecs

@Suite("Text is UTF-8")
struct UTF8Tests {
    @Test("well-formed text passes, whole and in fragments")
    func wellFormed() {
        let texts = [
            "", "a", "κόσμε", "\u{0}", "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFD}",
            "\u{FFFE}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}", "Hello-µ@ßöäüàá-UTF-8!!", "漢字かな交じり文 and ASCII, long",
            String(repeating: "x", count: 100) + "é" + String(repeating: "y", count: 37),
        ]
        for text in texts {
            expect(frame(.text, text), yields: [.text(text)])
            var fragments: [UInt8] = []
            FrameEncoder.appendFragments(.text, Array(text.utf8).span.bytes, fragmentSize: 1, to: &fragments)
            expect(fragments, yields: [.text(text)])
        }
    }

    /// Bytes, and the index of the first that cannot be part of any text; nil if only the end is missing.
    private static let malformed: [([UInt8], Int?)] = [
        ([0x80], 0), ([0xBF], 0), ([0xC0, 0x80], 0), ([0xC1, 0xBF], 0), ([0xF5], 0), ([0xFF], 0), ([0xFE], 0),
        ([0xC2], nil), ([0xC2, 0x41], 1), ([0xC2, 0xC2], 1), ([0xDF, 0xC0], 1),
        ([0xE0, 0x80], 1), ([0xE0, 0x9F], 1), ([0xE0, 0xA0], nil), ([0xE0, 0xA0, 0x41], 2), ([0xE1, 0x80, 0xC0], 2),
        ([0xED, 0xA0], 1), ([0xED, 0xBF], 1), ([0xED, 0x9F, 0x7F], 2), ([0xEF, 0xBF], nil),
        ([0xF0, 0x80], 1), ([0xF0, 0x8F], 1), ([0xF0, 0x90, 0x80], nil), ([0xF0, 0x90, 0x80, 0x00], 3),
        ([0xF1, 0x80, 0x7F], 2), ([0xF4, 0x90], 1), ([0xF4, 0x8F, 0xBF, 0xC0], 3), ([0xF8, 0x88], 0), ([0xFC], 0),
        // The text of conformance tests 6.3 and 6.4, with a surrogate after valid Greek.
        ([0xCE, 0xBA, 0xE1, 0xBD, 0xB9, 0xCF, 0x83, 0xCE, 0xBC, 0xCE, 0xB5, 0xED, 0xA0, 0x80, 0x65], 12),
        ([0xCE, 0xBA, 0xE1, 0xBD, 0xB9, 0xCF, 0x83, 0xCE, 0xBC, 0xCE, 0xB5, 0xF4, 0x90, 0x80, 0x80], 12),
    ]

    @Test("malformed text fails at the byte that makes it so", arguments: malformed)
    func failFast(bytes: [UInt8], index: Int?) {
        for lead in ["", "plain", String(repeating: "p", count: 70)] {
            let bytes = Array(lead.utf8) + bytes
            expect(frame(.text, bytes), yields: [.failure(.textNotUTF8)])
            var fragments: [UInt8] = []
            FrameEncoder.appendFragments(.text, bytes.span.bytes, fragmentSize: 2, to: &fragments)
            expect(fragments, yields: [.failure(.textNotUTF8)])

            // The frame announces more than ever comes.
            let stream = [0x81, 0x7E, 0x01, 0x00] + bytes
            var decoder = Setting().makeDecoder()
            let failing = stream.indices.first { !decoder.receive([stream[$0]]).isEmpty }
            #expect(failing == index.map { 4 + lead.utf8.count + $0 })
        }
    }

    @Test("every pair of bytes, and random bytes around the borders, are judged as the standard library does")
    func againstTheStandardLibrary() {
        let setting = Setting()
        for pair in 0...0xFFFF {
            let bytes = [UInt8(pair >> 8), UInt8(pair & 0xFF)]
            #expect(isAccepted(bytes, setting) == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
        }
        let borders: [UInt8] = [
            0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
            0xF0, 0xF1, 0xF3, 0xF4, 0xF5,
        ]
        for seed in 0..<4000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let bytes = (0..<Int.random(in: 3...5, using: &random)).map { _ in
                borders.randomElement(using: &random) ?? 0
            }
            let expected = String(validating: bytes, as: UTF8.self) != nil
            #expect(isAccepted(bytes, setting) == expected, "seed \(seed): \(bytes)")
        }
    }

    private func isAccepted(_ bytes: [UInt8], _ setting: Setting) -> Bool {
        receive([0x81, UInt8(bytes.count)] + bytes, cuts: [], setting) == [.message(.text, bytes)]
    }

    @Test("unchecked text passes as it is")
    func unchecked() {
        let half: [UInt8] = [0x41, 0xE2, 0x82]
        expect(frame(.text, half), yields: [.message(.text, half)], Setting(validatesUTF8: false))
        expect(frame(.binary, half), yields: [.message(.binary, half)])
    }
}
