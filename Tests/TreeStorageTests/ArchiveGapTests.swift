import Glibc
import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import HearthTreeStorage
import Synchronization
import Testing

/// Times are in milliseconds since 1970.
@Suite("Gaps in an archive")
struct ArchiveGapTests {
    private let data = TemporaryFolder()
    private let archive = TemporaryFolder()
    private let clock = Clock()
    private var folder: ArchiveFolder { ArchiveFolder(archive.path, database: "a") }

    private final class Clock: Sendable {
        private let time = Mutex<Int64>(0)
        var now: Int64 { time.withLock { $0 } }
        func set(_ now: Int64) { time.withLock { $0 = now } }
    }

    private func makeKeeper(baseInterval: Int64 = .max / 2) -> DatabaseArchive {
        var settings = DatabaseArchive.Settings()
        settings.baseInterval = baseInterval
        settings.window = .max / 2
        let clock = clock
        return DatabaseArchive(of: "a", in: data.path, to: archive.path, settings: settings, clock: { clock.now }) {
            clock.now
        }
    }

    private func write(_ values: [(value: Int64, time: Int64)]) throws {
        let disk = try DatabaseOnDisk(folder: data.path, durability: .process)
        for (value, time) in values {
            disk.now = time
            let content = IncomingValue(json: .init(integer: value))
            try disk.commit(disk.process([[.set(WriteTarget(path: "a"), content)]]))
        }
        try disk.apply()
    }

    private func advance(_ keeper: inout DatabaseArchive, at time: Int64) throws -> DatabaseArchive.Progress {
        clock.set(time)
        return try keeper.advance()
    }

    private func restored(at time: Int64?) throws -> ArchiveFolder.Restored {
        try ArchiveFolder.restore(archive.path, database: "a", at: time, as: nil, in: TemporaryFolder().path) { _ in }
    }

    private func missing(at time: Int64?) throws -> ArchiveFolder.Missing? {
        try ArchiveFolder.missing(in: archive.path, database: "a", at: time)
    }

    private func windows() throws -> [ArchiveFolder.Window] {
        try ArchiveFolder.check(archive.path, database: "a")
    }

    @Test("a restore tells its last commit, and whether the archive ends with that")
    func end() throws {
        var keeper = makeKeeper()
        try write([(1, 1000)])
        _ = try advance(&keeper, at: 1100)
        try write([(2, 2000)])
        _ = try advance(&keeper, at: 2100)
        for (time, sequence, last, isAtEnd) in [
            (1500, 1, 1000, false), (2000, 2, 2000, false), (2001, 2, 2000, true), (nil, 2, 2000, false),
        ] as [(Int64?, UInt64, Int64, Bool)] {
            let restored = try restored(at: time)
            #expect(restored.sequence == sequence)
            #expect(restored.time == last)
            #expect(restored.isAtEnd == isAtEnd, "\(time ?? -1)")
            #expect(try missing(at: time) == nil)
        }
    }

    @Test("there are none between copies of one log, however long nothing was written")
    func idle() throws {
        var keeper = makeKeeper(baseInterval: 1000)
        for number in 1...4 as ClosedRange<Int64> {
            try write([(number, number * 10_000)])
            #expect(try !advance(&keeper, at: number * 10_000 + 5000).hasGap)
        }
        #expect(folder.chains.count == 4)
        for time in [16_000, 22_000, 29_999] as [Int64] {
            #expect(try missing(at: time) == nil)
            #expect(try !restored(at: time).isAtEnd)
        }
        let windows = try windows()
        #expect(windows.map(\.begin) == [15_000])
        #expect(windows.map(\.sequence) == [4])
    }

    @Test("there is one after a restore of an older backup, whatever was written before and since", arguments: 0...4)
    func replaced(later: Int64) throws {
        var keeper = makeKeeper()
        try write([(1, 1000)])
        _ = try advance(&keeper, at: 1100)
        _ = try Backup.make(of: "a", in: data.path, to: data.path + "/copy")
        try write([(2, 2000), (3, 3000)])
        _ = try advance(&keeper, at: 3100)
        _ = try Backup.restore(data.path + "/copy", as: nil, in: data.path) { _ in }
        try write((0..<later).map { ($0 + 10, 4000 + $0) })
        #expect(try advance(&keeper, at: 5000).hasGap)
        try write([(4, 6000)])
        #expect(try !advance(&keeper, at: 6100).hasGap)
        let windows = try windows()
        #expect(windows.map(\.begin) == [1100, 5000])
        #expect(windows.map(\.end) == [3000, 6000])
        #expect(windows.map(\.sequence) == [3, UInt64(later) + 2])
        for time in [3001, 4500] as [Int64] {
            let missing = try missing(at: time)
            #expect(missing?.after == 3000)
            #expect(missing?.before == 5000)
        }
        for time in [1500, 3000, 5000, 7000, nil] as [Int64?] { #expect(try missing(at: time) == nil) }
    }

    @Test("begin where the copy of a chain, or all chains, are lost", arguments: [true, false])
    func lost(isAll: Bool) throws {
        var keeper = makeKeeper()
        try write([(1, 1000)])
        #expect(try !advance(&keeper, at: 1100).hasGap)
        let chain = try #require(folder.chains.first)
        if isAll { #expect(rename(chain.path, archive.path + "/elsewhere") == 0) } else { unlink(chain.base) }
        try write([(2, 2000)])
        let progress = try advance(&keeper, at: 2100)
        #expect(progress.hasGap)
        #expect(progress.madeBase)
        #expect(try restored(at: nil).sequence == 2)
    }

    @Test("an archive whose folder is gone is not made again")
    func goneFolder() throws {
        try write([(1, 1000)])
        let path = archive.path + "/gone"
        var keeper = DatabaseArchive(of: "a", in: data.path, to: path, settings: .init()) { 0 }
        #expect(throws: BackupError.self) { try keeper.advance() }
        #expect(access(path, F_OK) != 0)
    }

    /// As the archive does after some time, while somebody reads it.
    private func merge() throws {
        let chain = try #require(folder.chains.last)
        let tails = chain.segments
        try ArchiveSegment.merge(tails, in: chain.path)
        for tail in tails { unlink(tail.path) }
    }

    @Test("are not reported where segments are merged while they are read")
    func merging() throws {
        var keeper = makeKeeper()
        for number in 1...4 as ClosedRange<Int64> {
            try write([(number, number * 1000)])
            _ = try advance(&keeper, at: number * 1000 + 1)
        }
        var isMerged = false
        func mergeOnce() {
            if !isMerged { #expect(throws: Never.self) { try merge() } }
            isMerged = true
        }
        let restored = try ArchiveFolder.restore(
            archive.path, database: "a", at: nil, as: nil, in: TemporaryFolder().path
        ) { _ in mergeOnce() }
        #expect(restored.sequence == 4)
        for number in 5...7 as ClosedRange<Int64> {
            try write([(number, number * 1000)])
            _ = try advance(&keeper, at: number * 1000 + 1)
        }
        isMerged = false
        let windows = try ArchiveFolder.check(archive.path, database: "a", whenListed: mergeOnce)
        #expect(windows.map(\.sequence) == [7])
        #expect(windows.map(\.segments) == [1])
    }

    @Test("are no excuse for damage, which is reported while the archive changes")
    func damageMeanwhile() throws {
        var keeper = makeKeeper()
        for number in 1...3 as ClosedRange<Int64> {
            try write([(number, number * 1000)])
            _ = try advance(&keeper, at: number * 1000 + 1)
        }
        let chain = try #require(folder.chains.last)
        TemporaryFolder.write([1, 2, 3], to: try #require(chain.segments.first).path)
        var count: Int64 = 4
        func change() {
            #expect(throws: Never.self) {
                try write([(count, count * 1000)])
                _ = try advance(&keeper, at: count * 1000 + 1)
            }
            count += 1
        }
        #expect(throws: BackupError.self) {
            try ArchiveFolder.check(archive.path, database: "a", whenListed: change)
        }
        #expect(count == 5)
    }
}
