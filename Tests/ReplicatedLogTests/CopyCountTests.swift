import HearthTestSupport
import Testing

@testable import HearthReplicatedLog
@Suite("The number of copies") struct CopyCountTests {
    private let count = CopyCount()

    @Test("grows at once") func growing() {
        #expect(count.next(after: 0, connections: 0) == 3)
        #expect(count.next(after: 3, connections: 30_000) == 3)
        #expect(count.next(after: 3, connections: 30_001) == 4)
        #expect(count.next(after: 3, connections: 1_000_000) == 100)
    }

    @Test("shrinks late, and then stays", arguments: 0..<50 as Range<UInt64>) func shrinking(seed: UInt64) {
        #expect(count.next(after: 100, connections: 500_000) == 100)
        #expect(count.next(after: 100, connections: 499_999) == 67)
        #expect(count.next(after: 100, connections: 0) == 3)
        var random = SeededRandom(seed: seed)
        let connections = Int.random(in: 0...2_000_000, using: &random)
        for present in [0, 1000] {
            let copies = count.next(after: present, connections: connections)
            #expect(connections <= copies * count.connectionsMax, "seed \(seed)")
            // A tenth of the connections fewer changes nothing.
            #expect(count.next(after: copies, connections: connections * 9 / 10) == copies, "seed \(seed)")
        }
    }
}
