import HearthReplicatedLog
import HearthTestSupport
import Testing

@testable import HearthClusterNode

@Suite("The holders that a node remembers") struct HolderTableTests {
    private static func members(_ names: [String]) -> ClusterMembers {
        ClusterMembers(Dictionary(uniqueKeysWithValues: names.map { ($0, .member) }))
    }

    @Test("are those of the placement, also after changes", arguments: 0..<20 as Range<UInt64>)
    func holders(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let names = (1...8).map { "n\($0)" }
        var table = HolderTable()
        for revision in 1...40 as ClosedRange<Int64> {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: table.placement.take(nil)
            case 1: table.placement.take(([1, 2, 3], revision))
            default:
                let some = names.shuffled(using: &random).prefix(.random(in: 1...8, using: &random))
                table.placement.take((Self.members(Array(some)).bytes, revision))
            }
            for database in ["main", "a", "b", "main", "$cluster"] {
                #expect(table.holders(of: database) == table.placement.holders(of: database), "seed \(seed)")
                for name in names {
                    let holds = table.placement.holds(name, database)
                    #expect(table.holds(name, database) == holds, "seed \(seed): \(name), \(database)")
                }
            }
        }
    }

    @Test("are of so many databases at most") func count() {
        var table = HolderTable()
        table.placement.take((Self.members(["n1", "n2", "n3", "n4"]).bytes, 1))
        for number in 0..<HolderTable.countMax { _ = table.holds("n1", "d\(number)") }
        #expect(table.count == HolderTable.countMax)
        let before = table.holders(of: "d0")
        _ = table.holders(of: "one more")
        #expect(table.count == 1)
        #expect(table.holders(of: "d0") == before)
    }
}
