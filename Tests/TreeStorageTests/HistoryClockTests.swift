import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthSQLite
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthTreeStorage

@Suite("the clock by which kept changes grow older")
struct HistoryClockTests {
    private static let (hour, day): (Int64, Int64) = (3_600_000, 86_400_000)
    private static let keep = 30 * day

    /// A database with a history, of which a true clock knows when each change was made.
    private struct World {
        private let folder = TemporaryFolder()
        private let disk: DatabaseOnDisk
        private var file: HistoryFile?
        private let kept = IndexPattern(text: "a").map { [HistoryDefinition(pattern: $0, keep: keep)] } ?? []
        private(set) var now: Int64 = 1_700_000_000_000
        /// Time that a server has run.
        private var running: Int64 = 0
        /// By how much the machine's clock is ahead.
        var error: Int64 = 0
        /// When each operation was made, by the two.
        private var made: [(now: Int64, running: Int64)] = []
        private var start: Int64 = 0

        init(error: Int64 = 0) throws {
            disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
            self.error = error
        }

        /// The server runs for some time, and writes at its beginning and its end.
        mutating func run(_ milliseconds: Int64) throws {
            try write()
            now += milliseconds
            running += milliseconds
            try write()
        }

        /// No server runs.
        mutating func pause(_ milliseconds: Int64) {
            file = nil
            now += milliseconds
            start = now
        }

        private mutating func write() throws {
            disk.now = now + error
            let value = IncomingValue(json: CanonicalJSON(integer: Int64(made.count)))
            try disk.commit(disk.process([[.set(WriteTarget(path: "a"), value)]]))
            made.append((now, running))
            try advance()
        }

        private mutating func advance() throws {
            let file = try self.file ?? HistoryFile("a", in: folder.path, durability: .memory)
            self.file = file
            while try file.advance(kept, wall: now + error, uptime: now - start) {}
        }

        /// The age of the oldest change that is kept, and of the newest one that is not, in days; and the same in days
        /// that the server has run.
        func ages() throws -> (kept: Int64, forgotten: Int64?, keptRunning: Int64) {
            let first =
                try #require(
                    try file?.connection.integer("SELECT min(sequence) FROM change WHERE kind = 0")) - 1
            let (oldest, last) = (made[Int(first)], first > 0 ? made[Int(first) - 1] : nil)
            return (
                (now - oldest.now) / day, last.map { (now - $0.now) / day }, (running - oldest.running) / day
            )
        }
    }

    @Test("is the machine's while that one does not jump")
    func steady() throws {
        var world = try World()
        for day in 0..<100 {
            try world.run(Self.day)
            let ages = try world.ages()
            #expect(ages.kept <= 30)
            #expect(day < 31 || ages.kept >= 29)
            #expect(ages.forgotten ?? 30 >= 30)
        }
    }

    @Test("counts the hours of each day in which the server is off")
    func daily() throws {
        var world = try World()
        for number in 0..<365 {
            try world.run(10 * Self.hour)
            world.pause(14 * Self.hour)
            if number == 200 { world.pause(60 * Self.day) }
            // Afterwards, all pauses are short.
            if number > 200 { world.pause(Self.hour / 2) }
            try world.run(1)
            let ages = try world.ages()
            #expect(ages.forgotten ?? 30 >= 29, "day \(number)")
            // The long pause is not counted, but for a day of it.
            let isLong = (200...232).contains(number)
            #expect(ages.kept <= (isLong ? 91 : 31), "day \(number)")
            #expect(ages.keptRunning <= 31)
        }
    }

    @Test(
        "forgets nothing early, and nothing later than a day after its time, also if the machine's clock is wrong",
        arguments: [0, 365, -3650] as [Int64])
    func jumps(errorAtFirst: Int64) throws {
        var world = try World(error: errorAtFirst * Self.day)
        var errors: [Int64: Int64] = [10: 0, 50: 200, 130: 0, 131: 1, 150: -1, 190: 365, 191: 0, 192: 365]
        // Back and forth.
        for number in stride(from: 200 as Int64, to: 300, by: 3) { errors[number] = number.isMultiple(of: 2) ? 90 : 0 }
        // Ahead ever more.
        for number in 320..<400 as Range<Int64> { errors[number] = number }
        for number in 0..<440 as Range<Int64> {
            if let error = errors[number] { world.error = error * Self.day }
            try world.run(Self.day / 2)
            if number.isMultiple(of: 7) { world.pause(Self.hour / 2) }
            try world.run(Self.day / 2)
            let ages = try world.ages()
            // A jump at a start counts as a pause: one of a day, of so many starts.
            #expect(ages.forgotten ?? 30 >= 30, "day \(number)")
            #expect(ages.kept <= 31, "day \(number)")
            #expect(number < 40 || ages.kept >= 29, "day \(number)")
        }
    }

    @Test("takes a jump while the server is off for a pause of a day at most")
    func jumpAtStart() throws {
        var world = try World()
        for _ in 0..<40 { try world.run(Self.day) }
        for error in [365, 0, 400, 400, -365, 0] as [Int64] {
            world.pause(Self.hour)
            world.error = error * Self.day
            try world.run(Self.hour)
        }
        // Forward four times.
        let ages = try world.ages()
        #expect((26...30).contains(ages.kept))
        for _ in 0..<31 { try world.run(Self.day) }
        #expect(try world.ages().kept <= 31)
    }

    @Test("goes on in the file, also for a file that has none, and where the history starts over")
    func file() throws {
        let folder = TemporaryFolder()
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        let kept = IndexPattern(text: "a").map { [HistoryDefinition(pattern: $0, keep: Self.keep)] } ?? []
        let noon: Int64 = 1_700_000_000_000
        func set(_ value: CanonicalJSON, at time: Int64) throws {
            disk.now = time
            try disk.commit(disk.process([[.set(WriteTarget(path: "a"), IncomingValue(json: value))]]))
        }
        func count(_ file: HistoryFile) throws -> Int64? {
            try file.connection.integer("SELECT count(*) FROM change WHERE kind = 0")
        }
        let wrong = noon + 365 * Self.day
        do {
            let file = try HistoryFile("a", in: folder.path, durability: .process)
            for number in 0..<3 {
                try set(CanonicalJSON(integer: Int64(number)), at: noon + Int64(number))
                while try file.advance(kept, wall: noon, uptime: 0) {}
            }
            // As of an earlier version.
            try file.connection.execute("DELETE FROM meta WHERE name = 'clock'")
            try set("3", at: wrong)
        }
        for _ in 0..<2 {
            let file = try HistoryFile("a", in: folder.path, durability: .process)
            while try file.advance(kept, wall: wrong + 1000, uptime: 7) {}
            #expect(try count(file) == 4)
            #expect(try file.value(at: "a", after: 2) == "1")
        }
        let file = try HistoryFile("a", in: folder.path, durability: .process)
        while try file.advance(kept, wall: wrong + Self.keep + 1000, uptime: 0) {}
        while try file.advance(kept, wall: wrong + Self.keep + 1000, uptime: Self.keep) {}
        #expect(try count(file) == 0)
        #expect(try file.value(at: "a", after: 4) == "3")
        try set("4", at: wrong)
        while try file.advance(kept, wall: wrong, uptime: Self.keep) {}
        for _ in 0..<2 { try disk.apply() }
        // A log that does not go on: the marks were those of other operations.
        try file.connection.execute("UPDATE meta SET value = x'00' WHERE name = 'mark'")
        while try file.advance(kept, wall: wrong, uptime: Self.keep) {}
        #expect(try count(file) == 0)
        #expect(file.clock?.state.marks.allSatisfy { $0.before == 0 || $0.before == 5 } == true)
        #expect(file.storedClock == file.clock?.state)
    }
}
