import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthSQLite
import HearthTestSupport
import Testing

@testable import HearthTreeStorage

@Suite("the clock by which kept changes grow older")
struct HistoryClockTests {
    private static let (hour, day): (Int64, Int64) = (3_600_000, 86_400_000)
    private static let noon: Int64 = 1_700_000_000_000
    private static let keep = 30 * day

    @Test("is the machine's while that one does not jump")
    func steady() {
        var clock = HistoryClock(last: nil, wall: Self.noon, uptime: 5)
        clock.advance(wall: Self.noon + Self.day, uptime: 5 + Self.day)
        #expect(clock.time(keeping: Self.keep) == Self.noon + Self.day)
        // Set by less than a minute.
        clock.advance(wall: Self.noon + Self.day + 50_000, uptime: 5 + Self.day)
        #expect(clock.time(keeping: Self.keep) == Self.noon + Self.day + 50_000)
    }

    @Test(
        "goes on as before after a jump forward, until all from before it is old, and is right at once after one back")
    func jump() {
        var clock = HistoryClock(last: nil, wall: Self.noon, uptime: 0)
        let wrong = Self.noon + 365 * Self.day
        clock.advance(wall: wrong, uptime: 0)
        clock.advance(wall: wrong + 29 * Self.day, uptime: 29 * Self.day)
        #expect(clock.time(keeping: Self.keep) == Self.noon + 29 * Self.day)
        var corrected = clock
        corrected.advance(wall: Self.noon + 29 * Self.day, uptime: 29 * Self.day)
        #expect(corrected.time(keeping: Self.keep) == Self.noon + 29 * Self.day)
        clock.advance(wall: wrong + 30 * Self.day, uptime: 30 * Self.day)
        #expect(clock.time(keeping: Self.keep) == wrong + 30 * Self.day)
    }

    @Test("goes on when the server starts again, also one whose clock begins in the past or is far ahead")
    func restarts() {
        var clock = HistoryClock(last: nil, wall: Self.noon, uptime: 0)
        clock.advance(wall: Self.noon + Self.day, uptime: Self.day)
        let soon = Self.noon + Self.day + Self.hour / 2
        #expect(HistoryClock(last: clock.state, wall: soon, uptime: 0).time(keeping: Self.keep) == soon)
        let late = HistoryClock(last: clock.state, wall: Self.noon + 90 * Self.day, uptime: 0)
        #expect(late.time(keeping: Self.keep) == Self.noon + Self.day)
        var early = HistoryClock(last: clock.state, wall: 0, uptime: 0)
        #expect(early.time(keeping: Self.keep) == 0)
        early.advance(wall: soon, uptime: 10_000)
        #expect(abs(early.time(keeping: Self.keep) - soon) < Self.hour)
    }

    @Test("makes a history forget nothing because of a jump, before or after a new start, and the rest in time")
    func file() throws {
        let folder = TemporaryFolder()
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        let kept = IndexPattern(text: "a").map { [HistoryDefinition(pattern: $0, keep: Self.keep)] } ?? []
        func set(_ value: CanonicalJSON, at time: Int64) throws {
            disk.now = time
            try disk.commit(disk.process([[.set(WriteTarget(path: "a"), IncomingValue(json: value))]]))
        }
        func count(_ file: HistoryFile) throws -> Int64? {
            try file.connection.integer("SELECT count(*) FROM change WHERE kind = 0")
        }
        let wrong = Self.noon + 365 * Self.day
        do {
            let file = try HistoryFile("a", in: folder.path, durability: .process)
            for number in 0..<3 {
                try set(CanonicalJSON(integer: Int64(number)), at: Self.noon + Int64(number))
                while try file.advance(kept, wall: Self.noon, uptime: 0) {}
            }
            try set("3", at: wrong)
            while try file.advance(kept, wall: wrong, uptime: 1) {}
            #expect(try count(file) == 4)
        }
        let file = try HistoryFile("a", in: folder.path, durability: .process)
        while try file.advance(kept, wall: wrong + 1000, uptime: 7) {}
        #expect(try count(file) == 4)
        #expect(try file.value(at: "a", after: 2) == "1")
        // In time they are old whatever the clock was.
        while try file.advance(kept, wall: wrong + Self.keep + 1000, uptime: Self.keep + 7) {}
        #expect(try count(file) == 0)
        #expect(try file.value(at: "a", after: 4) == "3")
    }
}
