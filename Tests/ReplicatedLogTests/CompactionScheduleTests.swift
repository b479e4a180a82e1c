import HearthReplicatedLog
import Testing

@Suite("When etcd is to forget old revisions") struct CompactionScheduleTests {
    /// Looks every two seconds, with a revision each millisecond. Answers what was asked for, by the second.
    private static func run(
        _ schedule: inout CompactionSchedule, seconds: ClosedRange<Int64>, rank: Int = 0, usedBytes: Int64 = 0
    ) -> [(second: Int64, revision: Int64)] {
        stride(from: seconds.lowerBound, through: seconds.upperBound, by: 2).compactMap { second in
            schedule.look(second * 1000, usedBytes: usedBytes, rank: rank, at: second * 1000).map { (second, $0) }
        }
    }

    @Test("once per interval, up to a revision that was current a minute ago")
    func interval() {
        var schedule = CompactionSchedule()
        let asked = Self.run(&schedule, seconds: 100...250)
        #expect(asked.map(\.second) == [160, 190, 220, 250])
        #expect(asked.map(\.revision) == [100_000, 130_000, 160_000, 190_000])
    }

    @Test("the first node by name keeps ahead of the others, which step in if it does not")
    func ranks() {
        var schedules = Array(repeating: CompactionSchedule(), count: 6)
        let asked = schedules.indices.map { Self.run(&schedules[$0], seconds: 100...1000, rank: $0) }
        for (before, after) in zip(asked, asked.dropFirst()) {
            for (second, revision) in after {
                let earlier = before.last { $0.second <= second }
                #expect(earlier.map { $0.revision >= revision } ?? false)
            }
        }
        // However many nodes there are.
        #expect(asked[3].first?.second == 430)
        #expect(asked[5].first?.second == 430)
    }

    @Test("at once, and up to later revisions, while etcd has much that is new")
    func growth() {
        var schedule = CompactionSchedule()
        _ = Self.run(&schedule, seconds: 100...160, usedBytes: 1 << 30)
        func look(_ second: Int64, _ usedBytes: Int64) -> Int64? {
            schedule.look(second * 1000, usedBytes: usedBytes, rank: 0, at: second * 1000)
        }
        #expect(look(162, (3 << 29) - 1) == nil)
        #expect(look(164, 3 << 29) == 154_000)
        // It grows from there.
        #expect(look(166, 3 << 29) == nil)
        #expect(look(168, 2 << 30) == 158_000)
        // What was freed counts again.
        #expect(look(170, 1 << 30) == nil)
        #expect(look(172, 3 << 29) == 162_000)
    }

    @Test("nothing is asked for twice, and nothing while nothing is written")
    func idle() {
        var schedule = CompactionSchedule()
        let asked = (0...300).compactMap { second in
            schedule.look(7, usedBytes: 0, rank: 0, at: second * 1000)
        }
        #expect(asked == [7])
    }

    @Test("an etcd that was lost counts from 1 again")
    func lost() {
        var schedule = CompactionSchedule()
        _ = Self.run(&schedule, seconds: 100...250)
        let asked = (251...400).compactMap { second in
            schedule.look(second - 250, usedBytes: 0, rank: 0, at: second * 1000)
        }
        #expect(asked == [1, 31, 61])
    }
}
