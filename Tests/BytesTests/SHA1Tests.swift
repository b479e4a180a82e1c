import HearthBytes
import HearthTestSupport
import Testing

struct SHA1Tests {
    private func digest(_ pieces: [[UInt8]]) -> String {
        var hash = SHA1()
        for piece in pieces { piece.withUnsafeBytes { hash.update($0) } }
        return hash.finish().withUnsafeBytes { text(Hexadecimal.encode(Array($0))) }
    }

    @Test(
        "the examples of RFC 3174, section 7.3",
        arguments: [
            ("abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
            ),
            ("a", 1_000_000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
            (
                "0123456701234567012345670123456701234567012345670123456701234567", 10,
                "dea356a2cddd90c7a7ecedc5ebb563934f460452"
            ),
        ])
    func examples(piece: String, count: Int, expected: String) {
        #expect(digest(Array(repeating: bytes(piece), count: count)) == expected)
    }

    @Test("pieces of any length give the digest of the whole", arguments: 0..<20 as Range<UInt64>)
    func pieces(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let message = (0..<Int.random(in: 0..<300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
        }
        var pieces: [[UInt8]] = []
        var rest = message[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...100, using: &random))
            rest = rest.dropFirst(piece.count)
            pieces.append(Array(piece))
        }
        #expect(digest(pieces) == digest([message]), "seed \(seed)")
    }
}
