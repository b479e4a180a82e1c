import HearthBytes
import HearthTestSupport
import Testing

struct UTF8ValidatorTests {
    /// Beginnings of all kinds of characters, their neighbours in the table, and what continues them.
    private static let bytesOfInterest: [UInt8] = [
        0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
        0xEF,
        0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    ]

    private func isValid(_ pieces: [[UInt8]]) -> Bool {
        var validator = UTF8Validator()
        for piece in pieces where !piece.withUnsafeBytes({ validator.append($0) }) { return false }
        return validator.isComplete
    }

    @Test("says what the standard library says, of the whole and of pieces", arguments: 0..<200 as Range<UInt64>)
    func random(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<50 {
            var text = Array(repeating: UInt8(0x41), count: Int.random(in: 0..<40, using: &random))
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                text.append(Self.bytesOfInterest.randomElement(using: &random) ?? 0)
            }
            let expected = String(validating: text, as: UTF8.self) != nil
            #expect(isValid([text]) == expected, "seed \(seed): \(text)")
            let cut = Int.random(in: 0...text.count, using: &random)
            #expect(isValid([Array(text[..<cut]), Array(text[cut...])]) == expected, "seed \(seed): \(text) at \(cut)")
        }
    }

    @Test("refuses a text at the first byte that nothing could mend")
    func early() {
        for lead in [[0xE0, 0x80], [0xED, 0xA0], [0xF0, 0x80], [0xF4, 0x90], [0xC2, 0x41], [0xC0], [0x80]] as [[UInt8]]
        {
            var validator = UTF8Validator()
            #expect(lead.dropLast().allSatisfy { byte in [byte].withUnsafeBytes { validator.append($0) } })
            #expect(!lead.suffix(1).allSatisfy { byte in [byte].withUnsafeBytes { validator.append($0) } })
        }
    }

    @Test("lengths of characters, with and without unpaired surrogates")
    func lengths() {
        func length(_ bytes: [UInt8], _ surrogates: Surrogates = .forbidden) -> Int {
            bytes.withUnsafeBytes { multibyteLength($0, at: 0, surrogates: surrogates) }
        }
        for character in ["é", "あ", "\u{FFFF}", "😀", "\u{10FFFF}"] {
            #expect(length(bytes(character)) == character.utf8.count)
            #expect(length(bytes(character).dropLast()) == 0)
        }
        #expect(length([0xED, 0xA0, 0x80]) == 0)
        #expect(length([0xED, 0xA0, 0x80], .unpaired) == 3)
        #expect(length([0xED, 0xBF, 0xBF], .unpaired) == 3)
        // A pair of them is a character of its own.
        #expect(length([0xED, 0xA0, 0x80, 0xED, 0xB0, 0x80], .unpaired) == 0)
    }
}
