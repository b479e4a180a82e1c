import HearthBytes
import HearthTestSupport
import Testing

struct ByteLanesTests {
    @Test("the lowest mark is exact", arguments: 0..<100 as Range<UInt64>)
    func marks(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let pool: [UInt8] = [0, 1, 0x1F, 0x20, 0x21, 0x22, 0x7E, 0x7F, 0x80, 0xFF]
        for _ in 0..<50 {
            let bytes = (0..<ByteLanes.count).map { _ in pool.randomElement(using: &random) ?? 0 }
            let word = bytes.withUnsafeBytes { ByteLanes.load($0, 0) }
            func first(_ matches: (UInt8) -> Bool) -> Int? { bytes.firstIndex(where: matches) }
            func lowest(_ marks: UInt64) -> Int? { marks == 0 ? nil : ByteLanes.first(marks) }
            let sought = pool.randomElement(using: &random) ?? 0
            #expect(lowest(ByteLanes.equal(word, sought)) == first { $0 == sought }, "seed \(seed): \(bytes)")
            #expect(lowest(ByteLanes.notPlain(word)) == first { $0 < 0x20 || $0 > 0x7F }, "seed \(seed): \(bytes)")
            #expect(lowest(ByteLanes.notASCII(word)) == first { $0 > 0x7F }, "seed \(seed): \(bytes)")
        }
    }
}
