import HearthJSONTree
import HearthTestSupport
import Testing

@Suite("Push ids") struct PushIDTests {
    @Test("the first eight characters are the time, the most significant first")
    func time() throws {
        var random = SeededRandom(seed: 1)
        let times: [(Int64, String)] = [
            (0, "--------"), (1, "-------0"), (63, "-------z"), (64, "------0-"), (1_700_000_000_000, "-NjEtLV-"),
            ((1 << 48) - 1, "zzzzzzzz"),
        ]
        for (time, prefix) in times {
            var generator = PushIDGenerator()
            let id = generator.next(milliseconds: time, random: { random.next() })
            #expect(id.utf8.count == 20)
            #expect(String(id.description.prefix(8)) == prefix)
            #expect(try Key(validating: id.utf8).integer == nil)
        }
    }

    @Test("ids grow within a millisecond, over time, and when the clock goes back", arguments: [1, 2] as [UInt64])
    func growth(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var generator = PushIDGenerator()
        var time: Int64 = 1_700_000_000_000
        var last = generator.next(milliseconds: time, random: { random.next() })
        for _ in 0..<3000 {
            time += Int64.random(in: -1...1, using: &random)
            let next = generator.next(milliseconds: time, random: { random.next() })
            #expect(last < next, "seed \(seed)")
            #expect(last.utf8.lexicographicallyPrecedes(next.utf8), "seed \(seed)")
            last = next
        }
    }

    @Test("the second id of a millisecond is the first plus one, with a carry")
    func carry() {
        struct Ones: RandomNumberGenerator {
            var calls = 0
            mutating func next() -> UInt64 {
                calls += 1
                return calls == 2 ? .max : 0
            }
        }
        var ones = Ones()
        var generator = PushIDGenerator()
        #expect(generator.next(milliseconds: 1, random: { ones.next() }).description == "-------0------zzzzzz")
        #expect(generator.next(milliseconds: 1, random: { ones.next() }).description == "-------0-----0------")
        #expect(generator.next(milliseconds: 1, random: { ones.next() }).description == "-------0-----0-----0")
    }
}
