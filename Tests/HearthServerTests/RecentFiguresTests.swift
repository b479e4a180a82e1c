import HearthJSONValues
import Testing

@testable import HearthDatabaseHost
@testable import HearthAdministration

/// The console's charts begin with the last hour, also if nobody looked at them.
@Suite("The figures of the last hour")
struct RecentFiguresTests {
    private static func figures(_ databases: [(name: String, requests: Int64, sequence: UInt64)]) -> ServerFigures {
        var figures = ServerFigures()
        figures.databases = databases.map {
            DatabaseFigures(
                name: $0.name, requests: $0.requests, sequence: $0.sequence, durableSequence: $0.sequence - 1)
        }
        return figures
    }

    private static func list(_ name: String, of recent: RecentFigures) -> [Int64] {
        recent.json["samples"]?.array?.compactMap { $0.object?[name]?.integer } ?? []
    }

    @Test("count what databases do, but not what they did before they were opened, and not less when they are closed")
    func counting() {
        var recent = RecentFigures()
        recent.add(Self.figures([("a", 5, 1000)]), at: 1)
        recent.add(Self.figures([("a", 7, 1010)]), at: 2)
        recent.add(Self.figures([("a", 8, 1010), ("b", 100, 5000)]), at: 3)
        recent.add(Self.figures([("b", 101, 5004)]), at: 4)
        recent.add(Self.figures([("a", 1, 1010), ("b", 101, 5004)]), at: 5)
        #expect(Self.list("operations", of: recent) == [0, 10, 10, 14, 14])
        #expect(Self.list("requests", of: recent) == [0, 2, 3, 4, 4])
        #expect(Self.list("waiting", of: recent) == [1, 1, 2, 1, 2])
    }

    @Test("are as many as an hour has, and the oldest goes first")
    func bound() {
        var recent = RecentFigures(countMax: 3)
        for time in 1...8 as ClosedRange<Int64> { recent.add(Self.figures([]), at: time) }
        #expect(Self.list("at", of: recent) == [6, 7, 8])
        for time in 1...400 as ClosedRange<Int64> { recent.add(Self.figures([]), at: time) }
        #expect(Self.list("at", of: recent) == [398, 399, 400])
        #expect(RecentFigures.interval * 360 == .seconds(3600))
    }
}
