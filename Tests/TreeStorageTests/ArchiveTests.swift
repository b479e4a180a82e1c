import Glibc
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors
import Synchronization
import HearthTestSupport
import Testing
import HearthTreeStorage

@Suite("an archive")
struct ArchiveTests {
    private let data = TemporaryFolder()
    private let archive = TemporaryFolder()
    private var folder: ArchiveFolder { ArchiveFolder(archive.path, database: "a") }

    private final class Clock: Sendable {
        private let time = Mutex<(now: Int64, uptime: Int64)>((1_700_000_000_000, 0))
        var now: Int64 { time.withLock { $0.now } }
        var uptime: Int64 { time.withLock { $0.uptime } }
        func advance(_ milliseconds: Int64) {
            time.withLock {
                $0.now += milliseconds
                $0.uptime += milliseconds
            }
        }
        /// Is set.
        func jump(_ milliseconds: Int64) { time.withLock { $0.now += milliseconds } }
    }

    /// A database with a history, and its archive.
    private struct History {
        var work: DiskWorkload
        let disk: DatabaseOnDisk
        let clock = Clock()
        var keeper: DatabaseArchive
        var random: SeededRandom
        /// After each step: the time, and the last acknowledged commit.
        var moments: [(time: Int64, sequence: UInt64)] = []
        private let make: (Clock) -> DatabaseArchive

        init(seed: UInt64, _ test: ArchiveTests, baseInterval: Int64 = 200_000, window: Int64 = .max / 2) throws {
            work = DiskWorkload(seed: seed)
            disk = try DatabaseOnDisk(folder: test.data.path, durability: .memory)
            random = SeededRandom(seed: seed)
            make = { [data = test.data.path, archive = test.archive.path] clock in
                var settings = DatabaseArchive.Settings()
                settings.baseInterval = baseInterval
                settings.window = window
                settings.tailsMax = 5
                return DatabaseArchive(of: "a", in: data, to: archive, settings: settings, clock: { clock.now }) {
                    clock.uptime
                }
            }
            keeper = make(clock)
        }

        mutating func run(steps: Int, archivesBeforePruning: Bool = true) throws {
            for _ in 0..<steps {
                clock.advance(Int64.random(in: 1...5000, using: &random))
                disk.now = clock.now
                let step = work.nextStep()
                if case .prune = step, archivesBeforePruning { _ = try keeper.advance() }
                try work.run(step, on: disk)
                moments.append((clock.now, work.acknowledged))
            }
        }

        /// As when the server starts over.
        mutating func replaceKeeper() { keeper = make(clock) }

        /// The tree at a moment.
        func tree(at time: Int64) -> CanonicalJSON {
            let last = time == .max ? moments.last : moments.last { $0.time <= time }
            return work.trees[Int(last?.sequence ?? 0)]
        }
    }

    /// The database is lost.
    private func removeFiles() {
        for file in ["a.log", "a.log-wal", "a.log-shm", "a.tree", "a.tree-wal", "a.tree-shm"] {
            unlink("\(data.path)/\(file)")
        }
    }

    /// The tree that a restore to a moment makes.
    private func value(at time: Int64?) throws -> CanonicalJSON {
        let target = TemporaryFolder()
        _ = try ArchiveFolder.restore(archive.path, database: "a", at: time, as: nil, in: target.path) { _ in }
        return try DatabaseOnDisk(folder: target.path, durability: .memory).value()
    }

    @Test("restores a random history as it was at random moments", arguments: 0..<4 as Range<UInt64>)
    func moments(seed: UInt64) throws {
        var history = try History(seed: seed, self)
        try history.run(steps: 5)
        _ = try history.keeper.advance()
        let begin = history.clock.now
        for _ in 0..<40 {
            try history.run(steps: Int.random(in: 0...8, using: &history.random))
            #expect(try !history.keeper.advance().hasGap, "seed \(seed)")
            if Int.random(in: 0..<10, using: &history.random) == 0 { history.replaceKeeper() }
        }
        #expect(folder.chains.count > 1, "seed \(seed)")
        let windows = try ArchiveFolder.check(archive.path, database: "a")
        #expect(windows.count == 1, "seed \(seed)")
        #expect(windows.first?.sequence == history.work.acknowledged, "seed \(seed)")
        for _ in 0..<(10 * TestScale.factor) {
            let time = Int64.random(in: begin...history.clock.now, using: &history.random)
            #expect(try value(at: time) == history.tree(at: time), "seed \(seed), at \(time)")
        }
        #expect(try value(at: nil) == history.tree(at: .max), "seed \(seed)")
        let early = #expect(throws: BackupError.self) { try value(at: folder.chains[0].time - 1) }
        #expect(early?.message == "the archive \(archive.path) begins later", "seed \(seed)")
    }

    @Test("waits for a new database until the server has made its files")
    func unfinished() throws {
        let made = TemporaryFolder()
        let disk = try DatabaseOnDisk(folder: made.path, durability: .memory)
        func put(_ file: String, isEmpty: Bool) {
            for suffix in ["", "-wal"] {
                let bytes = isEmpty ? [] : TemporaryFolder.contents(of: "\(made.path)/\(file)\(suffix)")
                TemporaryFolder.write(bytes, to: "\(data.path)/\(file)\(suffix)")
            }
        }
        defer { withExtendedLifetime(disk) {} }
        var keeper = DatabaseArchive(of: "a", in: data.path, to: archive.path, settings: .init()) { 0 }
        for (file, isEmpty) in [("a.log", true), ("a.log", false), ("a.tree", true)] {
            put(file, isEmpty: isEmpty)
            let progress = try keeper.advance()
            #expect((progress.sequence, progress.hasGap, progress.madeBase) == (0, false, false))
            #expect(progress.removed.isEmpty)
            #expect(folder.chains.isEmpty)
        }
        put("a.tree", isEmpty: false)
        #expect(try keeper.advance().madeBase)
    }

    @Test("reports a database with commits of which a file is missing", arguments: ["a.log", "a.tree"])
    func missing(file: String) throws {
        do {
            let disk = try DatabaseOnDisk(folder: data.path, durability: .memory)
            try disk.commit(disk.process([[.set(WriteTarget(path: "new"), IncomingValue(json: "1"))]]))
            try disk.apply()
        }
        for suffix in ["", "-wal", "-shm"] { unlink("\(data.path)/\(file)\(suffix)") }
        var keeper = DatabaseArchive(of: "a", in: data.path, to: archive.path, settings: .init()) { 0 }
        let error = #expect(throws: BackupError.self) { try keeper.advance() }
        #expect(error?.message == "there is no database a in \(data.path)")
    }

    @Test(
        "is restored as it was at a moment before and after the clock was ahead, or had begun in the past",
        arguments: [365, -3650] as [Int64], [true, false])
    func wrongClock(days: Int64, isCopiedMeanwhile: Bool) throws {
        let error = days * 86_400_000
        var history = try History(seed: 12, self, baseInterval: isCopiedMeanwhile ? 200_000 : .max / 2)
        try history.run(steps: 5)
        _ = try history.keeper.advance()
        try history.run(steps: 5)
        let (before, time) = (history.tree(at: .max), history.clock.now)
        history.clock.jump(error)
        try history.run(steps: 5)
        _ = try history.keeper.advance()
        try history.run(steps: 5)
        history.clock.jump(-error)
        try history.run(steps: 5)
        _ = try history.keeper.advance()
        let (after, later) = (history.tree(at: .max), history.clock.now)
        history.clock.advance(300_000)
        try history.run(steps: 5)
        _ = try history.keeper.advance()
        #expect(folder.chains.count > 1 || !isCopiedMeanwhile)
        #expect(try value(at: time) == before)
        #expect(try value(at: later) == after)
        #expect(try value(at: history.clock.now) == history.tree(at: .max))
        #expect(try value(at: nil) == history.tree(at: .max))
    }

    @Test("is restored as it was at a moment, however damaged the rest of the archive is")
    func damageElsewhere() throws {
        var history = try History(seed: 14, self, baseInterval: 200_000)
        func run() throws {
            try history.run(steps: 4)
            _ = try history.keeper.advance()
        }
        for _ in 0..<100 { try run() }
        let chains = folder.chains
        #expect(chains.count > 3)
        let index = try #require(chains.dropLast().firstIndex { $0.segments.count > 2 })
        // In the middle of the chain: what follows in it is not needed either.
        let segments = chains[index].segments
        let connection = try Connection(path: segments[1].path, mode: .readOnly)
        let time = try #require(try connection.integer("SELECT time FROM log ORDER BY first DESC LIMIT 1")) - 1
        let tree = history.tree(at: time)
        #expect(try value(at: time) == tree)
        let rest = segments.dropFirst(2) + chains[(index + 1)...].flatMap(\.segments)
        for path in rest.map(\.path) {
            TemporaryFolder.write([1, 2, 3], to: path)
            #expect(try value(at: time) == tree)
        }
        for (number, chain) in chains[(index + 1)...].enumerated() {
            // As while a chain is removed.
            if number > 0 { TemporaryFolder.write([1, 2, 3], to: chain.base) } else { unlink(chain.base) }
            #expect(try value(at: time) == tree)
        }
        #expect(throws: BackupError.self) { try value(at: history.clock.now) }
    }

    @Test("is restored with what followed an earlier restore, and not with what that one had given up")
    func restoredMeanwhile() throws {
        var history = try History(seed: 15, self)
        try history.run(steps: 5)
        _ = try history.keeper.advance()
        try history.run(steps: 10)
        let (time, tree) = (history.clock.now, history.tree(at: .max))
        try history.run(steps: 30)
        _ = try history.keeper.advance()
        let year: Int64 = 365 * 86_400_000
        history.clock.jump(year)
        removeFiles()
        _ = try ArchiveFolder.restore(archive.path, database: "a", at: time, as: nil, in: data.path) { _ in }
        let disk = try DatabaseOnDisk(folder: data.path, durability: .memory)
        #expect(try disk.value() == tree)
        func write(_ count: Int) throws {
            for number in 0..<count {
                history.clock.advance(100)
                disk.now = history.clock.now
                let path = Path([Key(Int32(number % 20))])
                let value = IncomingValue(json: CanonicalJSON(integer: Int64.random(in: 0...9, using: &history.random)))
                try disk.commit(disk.process([[.set(WriteTarget(path: path), value)]]))
            }
        }
        #expect(try history.keeper.advance().hasGap)
        try write(5)
        _ = try history.keeper.advance()
        history.clock.jump(-year)
        try write(100)
        #expect(try !history.keeper.advance().hasGap)
        #expect(try value(at: history.clock.now) == disk.value())
        #expect(try value(at: time) == tree)
        // The log is another one again: one copy is made, though that of the latest time is not its.
        removeFiles()
        _ = try ArchiveFolder.restore(archive.path, database: "a", at: time, as: nil, in: data.path) { _ in }
        let next = try DatabaseOnDisk(folder: data.path, durability: .memory)
        var copies = 0
        for number in 0..<5 {
            history.clock.advance(1000)
            next.now = history.clock.now
            let value = IncomingValue(json: CanonicalJSON(integer: Int64(number)))
            try next.commit(next.process([[.set(WriteTarget(path: "next"), value)]]))
            if try history.keeper.advance().madeBase { copies += 1 }
        }
        #expect(copies == 1)
        #expect(try value(at: history.clock.now) == next.value())
    }

    @Test("still has the moments that an earlier restore had given up")
    func givenUp() throws {
        var history = try History(seed: 17, self)
        try history.run(steps: 5)
        _ = try history.keeper.advance()
        try history.run(steps: 10)
        let (early, earlyTree) = (history.clock.now, history.tree(at: .max))
        try history.run(steps: 10)
        let (late, lateTree) = (history.clock.now, history.tree(at: .max))
        try history.run(steps: 10)
        _ = try history.keeper.advance()
        removeFiles()
        _ = try ArchiveFolder.restore(archive.path, database: "a", at: early, as: nil, in: data.path) { _ in }
        history.clock.advance(1000)
        #expect(try history.keeper.advance().hasGap)
        #expect(try value(at: early) == earlyTree)
        #expect(try value(at: late) == lateTree)
        #expect(try value(at: history.clock.now) == earlyTree)
    }

    @Test("has the least time of the commits of each segment")
    func leastTimes() throws {
        var history = try History(seed: 16, self, baseInterval: .max / 2)
        try history.run(steps: 5)
        for number in 0..<12 {
            _ = try history.keeper.advance()
            if number == 3 { history.clock.jump(1_000_000) }
            if number == 4 { history.clock.jump(-1_000_000) }
            try history.run(steps: 5)
        }
        let segments = folder.chains.flatMap(\.segments)
        #expect(segments.contains { $0.kind == .segment })
        for segment in segments {
            let connection = try Connection(path: segment.path, mode: .readOnly)
            #expect(try connection.integer("SELECT time FROM least") == connection.integer("SELECT min(time) FROM log"))
        }
    }

    @Test("says that commits are missing where the log was pruned before they were archived, and continues with a copy")
    func gap() throws {
        var history = try History(seed: 7, self)
        try history.run(steps: 5)
        _ = try history.keeper.advance()
        let before = history.work.acknowledged
        while history.work.acknowledged < before + 20 { try history.run(steps: 1, archivesBeforePruning: false) }
        try history.disk.apply()
        for _ in 0..<20 { try history.disk.prune() }
        #expect(try history.keeper.advance().hasGap)
        #expect(folder.chains.count > 1)
        #expect(try value(at: nil) == history.tree(at: .max))
        try history.run(steps: 3)
        #expect(try !history.keeper.advance().hasGap)
        #expect(try value(at: nil) == history.tree(at: .max))
    }

    @Test("of another log begins with a copy, and what was archived before stays")
    func replaced() throws {
        var history = try History(seed: 8, self)
        try history.run(steps: 20)
        _ = try history.keeper.advance()
        let (before, time) = (history.tree(at: .max), history.clock.now)
        _ = try Backup.make(of: "a", in: data.path, to: data.path + "/copy")
        try history.run(steps: 20)
        _ = try history.keeper.advance()
        // An older copy takes the place of the database: numbers are used again.
        removeFiles()
        _ = try Backup.restore(data.path + "/copy", as: nil, in: data.path) { _ in }
        let disk = try DatabaseOnDisk(folder: data.path, durability: .memory)
        history.clock.advance(1000)
        disk.now = history.clock.now
        try disk.commit(disk.process([[.set(WriteTarget(path: "new"), IncomingValue(json: "1"))]]))
        #expect(try history.keeper.advance().hasGap)
        #expect(try value(at: nil) == disk.value())
        #expect(try value(at: time) == before)
    }

    @Test("keeps what is needed for its window, and no more")
    func window() throws {
        var history = try History(seed: 9, self, baseInterval: 50_000, window: 300_000)
        try history.run(steps: 2)
        var removed = 0
        for _ in 0..<100 {
            try history.run(steps: 4)
            removed += try history.keeper.advance().removed.count
        }
        #expect(removed > 0)
        let now = history.clock.now
        #expect(try value(at: now - 300_000) == history.tree(at: now - 300_000))
        #expect(folder.chains.filter { $0.time < now - 300_000 }.count == 1)
    }

    @Test("removes nothing because the clock jumps forward, and what is old after a jump back or a start in 1970")
    func jump() throws {
        var history = try History(seed: 13, self, baseInterval: 50_000, window: 300_000)
        func run() throws -> Int {
            try history.run(steps: 4)
            return try history.keeper.advance().removed.count
        }
        for _ in 0..<30 { _ = try run() }
        var removed = 0
        let chains = folder.chains.count
        for _ in 0..<30 {
            history.replaceKeeper()
            let now = history.clock.now
            history.clock.jump(-now)
            removed += try run()
            history.clock.jump(now)
            removed += try run()
        }
        #expect(removed > 0)
        #expect(folder.chains.count <= chains + 1)
        for _ in 0..<40 { _ = try run() }
        let (before, time) = (history.tree(at: history.clock.now - 250_000), history.clock.now - 250_000)
        let year: Int64 = 365 * 86_400_000
        history.clock.jump(year)
        for _ in 0..<3 { #expect(try run() == 0) }
        #expect(try value(at: time) == before)
        // Back and forth: what has become old is removed all the same.
        removed = 0
        for number in 0..<90 {
            removed += try run()
            history.clock.jump(number.isMultiple(of: 2) ? -year : year)
        }
        #expect(removed > 0)
    }

    @Test("that a crash has cut is whole as far as it goes, and is extended again")
    func crash() throws {
        var history = try History(seed: 10, self)
        try history.run(steps: 10)
        for _ in 0..<4 {
            try history.run(steps: 3)
            _ = try history.keeper.advance()
        }
        // A copy and a segment that did not come to their ends, and tails that are in a segment already.
        mkdir(folder.path + "/new", 0o700)
        TemporaryFolder.write([1, 2, 3], to: folder.path + "/new/base.backup.part")
        let chain = try #require(folder.chains.last)
        TemporaryFolder.write([1, 2, 3], to: chain.path + "/new.segment.part")
        try ArchiveSegment.merge(chain.segments, in: chain.path)
        #expect(try value(at: nil) == history.tree(at: .max))
        history.replaceKeeper()
        try history.run(steps: 3)
        #expect(try !history.keeper.advance().hasGap)
        #expect(try value(at: nil) == history.tree(at: .max))
        #expect(chain.segments.map(\.first) == chain.segments.map(\.first).sorted())
    }

    @Test("that ends with an impossible number of operations is reported", arguments: [-126, 0, .max] as [Int64])
    func impossibleEnd(count: Int64) throws {
        var history = try History(seed: 18, self)
        for _ in 0..<3 {
            try history.run(steps: 5)
            _ = try history.keeper.advance()
        }
        let segment = try #require(folder.chains.last?.segments.last)
        let connection = try Connection(path: segment.path, mode: .readWrite)
        let last = try #require(try connection.integer("SELECT max(first) FROM log"))
        try connection.execute("UPDATE log SET count = \(count) WHERE first = \(last)")
        history.replaceKeeper()
        let error = #expect(throws: BackupError.self) { try history.keeper.advance() }
        #expect(error?.message.hasSuffix("log row \(last)") == true, "\(error?.message ?? "")")
        #expect(throws: BackupError.self) { try value(at: nil) }
        #expect(throws: BackupError.self) { try ArchiveFolder.check(archive.path, database: "a") }
    }

    @Test("has no files with numbers that it cannot have given them")
    func impossibleNames() throws {
        var history = try History(seed: 19, self)
        try history.run(steps: 10)
        _ = try history.keeper.advance()
        let chains = folder.chains
        let segments = try #require(chains.last).segments
        mkdir("\(folder.path)/0\(Int64.max)-00000000000000000001", 0o700)
        TemporaryFolder.write([], to: "\(chains[0].path)/00000000000000000000-00000000000000009999.segment")
        #expect(folder.chains == chains)
        #expect(folder.chains.last?.segments == segments)
        history.replaceKeeper()
        #expect(try !history.keeper.advance().hasGap)
        #expect(try ArchiveFolder.check(archive.path, database: "a").count == 1)
    }

    @Test("that is damaged anywhere is refused, or its damage is where nothing is")
    func damage() throws {
        var history = try History(seed: 11, self)
        try history.run(steps: 5)
        for _ in 0..<3 {
            try history.run(steps: 5)
            _ = try history.keeper.advance()
        }
        let tree = history.tree(at: .max)
        let chain = try #require(folder.chains.last)
        let segment = try #require(chain.segments.last)
        let bytes = TemporaryFolder.contents(of: segment.path)
        for _ in 0..<30 {
            var damaged = bytes
            damaged[Int.random(in: 0..<bytes.count, using: &history.random)] ^= 1 << UInt8.random(in: 0..<8)
            TemporaryFolder.write(damaged, to: segment.path)
            do {
                #expect(try value(at: nil) == tree)
            } catch is BackupError {}
        }
        unlink(segment.path)
        TemporaryFolder.write(bytes, to: segment.path)
        #expect(try value(at: nil) == tree)
        // One in the middle is gone.
        unlink(try #require(chain.segments.first).path)
        if chain.segments.count > 1 {
            let error = #expect(throws: BackupError.self) { try value(at: nil) }
            #expect(error?.message.hasSuffix(" are missing") == true)
        }
    }
}
