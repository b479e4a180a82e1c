import Glibc
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthSQLite
import HearthStorageErrors
import HearthTestSupport
import Synchronization
import Testing

@testable import HearthTreeStorage

@Suite("the syncs of a log whose commits do not wait for the disk")
struct LogSyncTests {
    /// The files of one database on a simulated disk, as a node of a cluster has them.
    private struct Files {
        let disk = SimulatedDisk()
        let log: LogFile
        let tree: TreeFile
        let sync: LogSync
        private let folder: DataFolder
        private let reports = Reports()

        final class Reports: Sendable {
            let all = Mutex<[UInt64]>([])
        }

        init() throws {
            folder = try DataFolder(path: disk.path, durability: .full)
            (log, tree) = try folder.open("a", newEpoch: 1, isShared: true)
            sync = try LogSync(log, through: 0)
            sync.report { [reports] sequence in reports.all.withLock { $0.append(sequence) } }
        }

        var reported: [UInt64] { reports.all.withLock { $0 } }

        func append(_ records: [LogRecord]) throws {
            try log.append(records)
            sync.wrote(through: log.lastSequence)
        }

        /// The records that a loss of power leaves now.
        func recordsAfterPowerCut(keeping probability: Double, seed: UInt64) throws -> [LogRecord] {
            let image = disk.imageAfterPowerCut(keeping: probability, seed: seed)
            let folder = try DataFolder(path: image.path, durability: .full)
            let (log, tree) = try folder.open("a", newEpoch: 2, isShared: true)
            #expect(tree.sequence <= log.lastSequence)
            var records: [LogRecord] = []
            try log.forEachRecord(after: 0) { records.append($0) }
            return records
        }
    }

    private static func record(_ sequence: UInt64, bytes: Int = 10) -> LogRecord {
        var record = LogRecord(firstSequence: sequence, time: Int64(sequence))
        let value = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: bytes))
        record.append(.set(Assignment(target: WriteTarget(path: Path([Key(Int32(sequence))])), value: value)), uid: [])
        return record
    }

    @Test(
        "a loss of power takes nothing that was synced, and leaves a beginning of the rest",
        arguments: 0..<(8 * TestScale.factor))
    func power(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let files = try Files()
        // The write-ahead file is used again and again.
        try files.log.connection.execute("PRAGMA wal_autocheckpoint = 20")
        var written: [LogRecord] = []
        for step in 0..<80 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0: try files.sync.sync()
            case 1:
                let left = try files.recordsAfterPowerCut(
                    keeping: [0, 0.5, 0.9, 1].randomElement(using: &random) ?? 0, seed: random.next())
                #expect(left == Array(written.prefix(left.count)), "seed \(seed) step \(step)")
                #expect(left.count >= Int(files.reported.last ?? 0), "seed \(seed) step \(step)")
            default:
                let records = (1...Int.random(in: 1...3, using: &random)).map {
                    Self.record(UInt64(written.count + $0), bytes: .random(in: 1...5_000, using: &random))
                }
                try files.append(records)
                written += records
            }
        }
        try files.sync.sync()
        #expect(files.reported.last == UInt64(written.count), "seed \(seed)")
        #expect(try files.recordsAfterPowerCut(keeping: 0, seed: seed) == written, "seed \(seed)")
    }

    @Test("after a failed one all fail, also of the file opened again, though the disk takes them")
    func failure() throws {
        let files = try Files()
        try files.append([Self.record(1)])
        try files.sync.sync()
        try files.append([Self.record(2)])
        files.disk.observe { call, _ in call == .sync ? EIO : 0 }
        #expect(throws: StorageError.self) { try files.sync.sync() }
        files.disk.observe(nil)
        #expect(throws: StorageError.self) { try files.sync.sync() }
        #expect(throws: StorageError.self) { try LogSync.sync(files.log.path) }
        #expect(files.sync.isBehind)
        #expect(files.sync.has(1))
        #expect(!files.sync.has(2))
        files.sync.close()
        let again = try LogSync(files.log, through: 2, after: files.sync.failure)
        #expect(again.failure != nil)
        #expect(throws: StorageError.self) { try again.sync() }
        #expect(files.reported == [1])
    }

    @Test("a closed one syncs nothing, and has what it had")
    func closed() throws {
        let files = try Files()
        try files.append([Self.record(1)])
        try files.sync.sync()
        try files.append([Self.record(2)])
        files.sync.close()
        #expect(throws: StorageError.stopping) { try files.sync.sync() }
        #expect(files.sync.has(1))
        #expect(!files.sync.has(2))
        #expect(files.sync.failure == nil)
        try LogSync.sync(files.log.path)
        #expect(files.reported == [1])
    }

    @Test("a reader keeps a log from being opened, as its write-ahead file would remain")
    func reader() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/a.log"
        let writer = try LogFile(path: path, durability: .full, newEpoch: 1)
        try writer.append([Self.record(1)])
        let reader = try Connection(path: path, mode: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM log")
        try writer.append([Self.record(2)])
        let error = #expect(throws: StorageError.self) { try writer.deferSyncs() }
        guard case .busy = error else {
            Issue.record("not refused as busy: \(String(describing: error))")
            return
        }
        try reader.execute("COMMIT")
        try writer.deferSyncs()
        var status = stat()
        #expect(stat(path + "-wal", &status) == 0 && status.st_size == 0)
    }

    @Test("the log is on the disk before an archive, or a history, of it is")
    func readers() throws {
        let files = try Files()
        let archive = TemporaryFolder()
        try files.append([Self.record(1), Self.record(2)])
        #expect(try files.recordsAfterPowerCut(keeping: 0, seed: 1) == [])
        var keeper = DatabaseArchive(of: "a", in: files.disk.path, to: archive.path, settings: .init()) { 0 }
        #expect(try keeper.advance().sequence == 2)
        #expect(try files.recordsAfterPowerCut(keeping: 0, seed: 1).count == 2)
        try files.append([Self.record(3)])
        #expect(try keeper.advance().sequence == 3)
        #expect(try files.recordsAfterPowerCut(keeping: 0, seed: 1).count == 3)
        try files.append([Self.record(4)])
        let history = try HistoryFile("a", in: files.disk.path, durability: .full)
        let kept = HistoryDefinition(pattern: try #require(IndexPattern(text: "rooms")), keep: nil)
        try history.follow([kept])
        try files.append([Self.record(5)])
        try history.follow([kept])
        #expect(try files.recordsAfterPowerCut(keeping: 0, seed: 1).count == 5)
    }
}
