import HearthBytes
import HearthTestSupport
import Testing

struct Base64Tests {
    @Test(
        "the examples of RFC 4648, section 10",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func examples(plain: String, encoded: String) {
        #expect(text(Base64.standard.encode(bytes(plain))) == encoded)
        #expect(Base64.standard.decode(encoded.utf8) == bytes(plain))
        let unpadded = encoded.filter { $0 != "=" }
        #expect(text(Base64.url.encode(bytes(plain))) == unpadded)
        #expect(Base64.url.decode(unpadded.utf8) == bytes(plain))
    }

    @Test(
        "what encoding does not make is refused",
        arguments: ["A", "AAAAA", "AB", "AAB", "AA=", "AA==", "AAA=", "AA A", "AA\n", "A+A", "A/A", "AÄA", "===="])
    func refused(text: String) { #expect(Base64.url.decode(text.utf8) == nil) }

    @Test(
        "padding must be there, once, in the standard alphabet",
        arguments: ["AA", "AAA", "AA=", "A===", "AA==AA==", "AB==", "-_==", "A", "====", "="])
    func padding(text: String) { #expect(Base64.standard.decode(text.utf8) == nil) }

    @Test("random bytes come back, and only one text gives them", arguments: 0..<20 as Range<UInt64>)
    func random(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let plain = (0..<Int.random(in: 0..<70, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        for alphabet in [Base64.standard, .url] {
            var encoded = alphabet.encode(plain)
            #expect(alphabet.decode(encoded) == plain, "seed \(seed)")
            guard !encoded.isEmpty else { continue }
            let index = Int.random(in: 0..<encoded.count, using: &random)
            encoded[index] = UInt8.random(in: 0...255, using: &random)
            if let other = alphabet.decode(encoded) { #expect(alphabet.encode(other) == encoded, "seed \(seed)") }
        }
    }
}
