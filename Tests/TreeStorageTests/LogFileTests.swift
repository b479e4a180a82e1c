import Glibc
import HearthJSONTree
import HearthSQLite
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase
@testable import HearthTreeStorage
import HearthStorageErrors

@Suite("a log file")
struct LogFileTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/a.log" }

    private func open(epoch: UInt64 = 1) throws -> LogFile {
        try LogFile(path: path, durability: .full, newEpoch: epoch)
    }

    /// The error of a record whose number is taken.
    private static func taken(_ path: String) -> StorageError {
        .inputOutput("UNIQUE constraint failed: log.first (\(path))")
    }

    /// A record of so many operations.
    private static func record(_ first: UInt64, count: Int = 1, time: Int64 = 0, bytes: Int = 10) -> LogRecord {
        var record = LogRecord(firstSequence: first, time: time)
        for index in 0..<count {
            let value = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: bytes))
            record.append(.set(Assignment(target: WriteTarget(path: Path([Key(Int32(index))])), value: value)), uid: [])
        }
        return record
    }

    private func records(_ log: LogFile, after sequence: UInt64 = 0) throws -> [LogRecord] {
        var records: [LogRecord] = []
        try log.forEachRecord(after: sequence) { records.append($0) }
        return records
    }

    @Test("gives back what was appended, also when it is opened again")
    func appendAndReplay() throws {
        let written = [Self.record(1, count: 3, time: 7), Self.record(4), Self.record(5, count: 2)]
        do {
            let log = try open(epoch: .max - 5)
            #expect(log.lastSequence == 0)
            #expect(log.epochs == Epochs(current: .init(name: .max - 5, start: 0)))
            #expect(try records(log) == [])
            try log.append(Array(written[..<1]))
            try log.append(Array(written[1...]))
            try log.append([])
            #expect(log.lastSequence == 6)
        }
        let log = try open(epoch: 9)
        #expect(log.lastSequence == 6)
        #expect(log.epochs == Epochs(past: [.init(name: .max - 5, start: 0)], current: .init(name: 9, start: 6)))
        #expect(try records(log) == written)
        // A position within a record gives the whole record.
        #expect(try records(log, after: 1) == written)
        #expect(try records(log, after: 3) == Array(written[1...]))
        #expect(try records(log, after: 5) == Array(written[2...]))
        #expect(try records(log, after: 6) == [])
    }

    @Test("may be reached by a link to another folder, where its write-ahead file is then")
    func linked() throws {
        let elsewhere = TemporaryFolder()
        #expect(symlink(elsewhere.path + "/b.log", path) == 0)
        TemporaryFolder.write([], to: elsewhere.path + "/b.log")
        let written = [Self.record(1), Self.record(2)]
        for record in written {
            let log = try open()
            try log.append([record])
            #expect(access(elsewhere.path + "/b.log-wal", F_OK) == 0)
        }
        #expect(try records(open()) == written)
    }

    @Test("takes all records of a commit or none")
    func appendIsAtomic() throws {
        let log = try open()
        try log.append([Self.record(1)])
        // The second record has a number that is taken.
        #expect(throws: Self.taken(path)) { try log.append([Self.record(2), Self.record(1)]) }
        #expect(log.lastSequence == 1)
        #expect(try records(log).count == 1)
        try log.append([Self.record(2)])
        #expect(try records(log).map(\.firstSequence) == [1, 2])
    }

    @Test("loses what is old and applied, but never the last record, and never one between others")
    func prune() throws {
        let log = try open()
        // The clock went back once.
        for (index, time) in ([10, 20, 30, 15, 40, 50] as [Int64]).enumerated() {
            try log.append([Self.record(UInt64(index) + 1, time: time)])
        }
        #expect(try !log.prune(before: 5, keepingBytes: .max, appliedSequence: 6))
        #expect(try records(log).count == 6)
        #expect(try !log.prune(before: 25, keepingBytes: .max, appliedSequence: 1))
        #expect(try records(log).count == 6)
        #expect(try !log.prune(before: 25, keepingBytes: .max, appliedSequence: 6))
        #expect(try records(log, after: 2).map(\.firstSequence) == [3, 4, 5, 6])
        #expect(throws: StorageError.damaged("log row 1 is missing")) { try records(log) }
        #expect(try !log.prune(before: 100, keepingBytes: .max, appliedSequence: 4))
        #expect(try records(log, after: 3).map(\.firstSequence) == [4, 5, 6])
        #expect(try !log.prune(before: 100, keepingBytes: .max, appliedSequence: 100))
        #expect(try records(log, after: 5).map(\.firstSequence) == [6])
        #expect(try open().lastSequence == 6)
    }

    @Test("loses what was made while the clock was ahead, once what was made later is old")
    func pruneFuture() throws {
        let log = try open()
        for (index, time) in ([10, 9000, 9001, 15, 60, 70] as [Int64]).enumerated() {
            try log.append([Self.record(UInt64(index) + 1, time: time)])
        }
        #expect(try !log.prune(before: 12, now: 100, keepingBytes: .max, appliedSequence: 6))
        #expect(try records(log, after: 1).map(\.firstSequence) == [2, 3, 4, 5, 6])
        #expect(try !log.prune(before: 20, now: 100, keepingBytes: .max, appliedSequence: 6))
        #expect(try records(log, after: 4).map(\.firstSequence) == [5, 6])
    }

    @Test("takes nothing once its file was moved or removed, and continues when it is back")
    func moved() throws {
        let log = try open()
        try log.append([Self.record(1)])
        for suffix in ["", "-wal"] {
            #expect(rename(path + suffix, path + suffix + ".away") == 0)
            #expect(throws: StorageError.replaced("\(path)\(suffix) is gone")) { try log.append([Self.record(2)]) }
            #expect(throws: StorageError.replaced("\(path)\(suffix) is gone")) { try log.probe() }
            TemporaryFolder.write([], to: path + suffix)
            #expect(throws: StorageError.replaced("\(path)\(suffix) is another one")) { try log.probe() }
            #expect(rename(path + suffix + ".away", path + suffix) == 0)
            try log.probe()
        }
        try log.append([Self.record(2)])
    }

    @Test("loses its oldest records when it is too large, a few at a time")
    func pruneBySize() throws {
        let log = try open()
        for index in 1...40 { try log.append([Self.record(UInt64(index), time: 100, bytes: 10_000)]) }
        #expect(try !log.prune(before: 0, keepingBytes: 1 << 30, appliedSequence: 40))
        #expect(try records(log).count == 40)
        var steps = 0
        while try log.prune(before: 0, keepingBytes: 200_000, appliedSequence: 40, rowsMax: 3) { steps += 1 }
        #expect(steps > 5)
        // The first position from which the log can still be read.
        let first = try #require((0..<40 as Range<UInt64>).first { (try? records(log, after: $0)) != nil })
        #expect((20...26).contains(first), "\(40 - first) records of 10 kB are left")
    }

    // MARK: Epochs

    /// What a run knows that begins now.
    private func epochs(of path: String? = nil) throws -> [Epochs.Epoch] {
        try LogFile(path: path ?? self.path, durability: .process, newEpoch: 0).epochs.past
    }

    @Test("knows the epochs of all that wrote to it, from the first record of each")
    func epochs() throws {
        for (epoch, first) in [(1, 1), (2, 3), (4, 5)] as [(UInt64, UInt64)] {
            let log = try open(epoch: epoch)
            try log.append([Self.record(first)])
            try log.append([Self.record(first + 1)])
            // One that writes nothing leaves nothing.
            _ = try open(epoch: 3)
        }
        #expect(
            try epochs() == [.init(name: 1, start: 0), .init(name: 2, start: 2), .init(name: 4, start: 4)])
        let last = try open(epoch: 5)
        #expect(last.epochs.current == .init(name: 5, start: 6))
        // Those go that have no numbers from where the log begins.
        for index in 7...9 as ClosedRange<UInt64> { try last.append([Self.record(index, time: Int64(index))]) }
        #expect(try !last.prune(before: 7, keepingBytes: .max, appliedSequence: 4))
        #expect(
            try epochs() == [.init(name: 2, start: 2), .init(name: 4, start: 4), .init(name: 5, start: 6)])
        #expect(try !last.prune(before: 100, keepingBytes: .max, appliedSequence: 9))
        #expect(try epochs() == [.init(name: 5, start: 6)])
    }

    @Test("has room for commits, which seldom make a file longer; with or without it, a copy has the same records")
    func room() throws {
        let log = try open()
        let file = path + "-wal"
        var written: [LogRecord] = []
        var lengths: Set<Int64> = []
        for index in 1...200 as ClosedRange<UInt64> {
            written.append(Self.record(index))
            try log.append([written[written.count - 1]])
            var status = stat()
            #expect(stat(file, &status) == 0)
            lengths.insert(Int64(status.st_size))
        }
        // 800 KB and more, of which a commit takes 4 or 8.
        #expect((2...8).contains(lengths.count), "\(lengths)")
        let whole = TemporaryFolder.contents(of: file)
        #expect(whole.suffix(16_384).allSatisfy { $0 == 0 })
        for kept in [whole.count, (whole.lastIndex { $0 != 0 } ?? 0) + 4096] {
            let copy = "\(folder.path)/\(kept).log"
            TemporaryFolder.write(TemporaryFolder.contents(of: path), to: copy)
            TemporaryFolder.write(Array(whole.prefix(kept)), to: copy + "-wal")
            #expect(try records(LogFile(path: copy, durability: .process, newEpoch: 2)) == written)
        }
    }

    @Test("has a write-ahead file that begins again after 4,096 pages, with as much room as it has")
    func checkpoints() throws {
        let log = try open()
        // 100 pages each.
        for index in 1...100 as ClosedRange<UInt64> { try log.append([Self.record(index, bytes: 400_000)]) }
        var status = stat()
        #expect(stat(path + "-wal", &status) == 0)
        #expect((4096...4300).contains(status.st_size / 4120))
        #expect(stat(path, &status) == 0)
        #expect(status.st_size > 4096 * 4096)
        #expect(try records(log).map(\.firstSequence) == Array(1...100))
    }

    @Test("takes up an epoch only with the records that come with it")
    func failedEpoch() throws {
        let log = try open(epoch: 1)
        #expect(throws: Self.taken(path)) { try log.append([Self.record(1), Self.record(1)]) }
        #expect(try epochs() == [])
        try log.append([Self.record(1)])
        #expect(try epochs() == [.init(name: 1, start: 0)])
    }

    @Test("of which the end is lost gives out no number again in the same epoch", arguments: [0, 40, 70, 100])
    func lostEnd(percent: Int) throws {
        let copy = folder.path + "/b.log"
        var epoch: UInt64 = 1
        do {
            let log = try open(epoch: 1)
            for index in 1...50 as ClosedRange<UInt64> { try log.append([Self.record(index, bytes: 500)]) }
            // As a loss of power leaves it: the file, and some of what was written ahead of it, without the room after.
            let whole = TemporaryFolder.contents(of: path + "-wal")
            let used = (whole.lastIndex { $0 != 0 } ?? 0) + 1
            let wal = whole.prefix(32 + (used - 32 + 4119) / 4120 * 4120)
            TemporaryFolder.write(TemporaryFolder.contents(of: path), to: copy)
            TemporaryFolder.write(Array(wal.prefix(wal.count * percent / 100)), to: copy + "-wal")
        }
        for _ in 0..<3 {
            epoch += 1
            let log = try LogFile(path: copy, durability: .process, newEpoch: epoch)
            let last = log.lastSequence
            #expect(log.epochs.current == .init(name: epoch, start: last))
            #expect((percent == 100) == (last == 50) || epoch > 2)
            try log.append([Self.record(last + 1), Self.record(last + 2)])
        }
        let starts = try epochs(of: copy)
        #expect(starts.map(\.name) == (percent == 0 ? [2, 3, 4] : [1, 2, 3, 4]))
        #expect(zip(starts.suffix(3), starts.suffix(2)).allSatisfy { $0.start + 2 == $1.start })
    }

    @Test("of an earlier version is taken over, but not its positions")
    func earlierVersion() throws {
        let record = Self.record(1, count: 2)
        do {
            let connection = try Connection(path: path, mode: .readWrite)
            try connection.execute(
                """
                PRAGMA journal_mode = wal;
                CREATE TABLE log (
                    first INTEGER PRIMARY KEY, count INTEGER NOT NULL, time INTEGER NOT NULL, checksum INTEGER NOT NULL,
                    body BLOB NOT NULL);
                CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
                INSERT INTO meta VALUES ('epoch', 17), ('unsynced', 'ffff');
                """)
            let insert = try connection.prepare("INSERT INTO log VALUES (1, 2, 0, ?, ?)")
            insert.bind(1, Int64(bitPattern: record.checksum))
            insert.bind(2, record.body)
            try insert.run()
        }
        let log = try open(epoch: 18)
        #expect(try records(log) == [record])
        #expect(log.epochs == Epochs(current: .init(name: 18, start: 2)))
        try log.append([Self.record(3)])
        #expect(try epochs() == [.init(name: 18, start: 2)])
    }

    @Test("says when an operation was committed, if it has it")
    func times() throws {
        let log = try open()
        #expect(try log.time(of: 0) == nil)
        #expect(try log.time(of: 1) == nil)
        try log.append([
            Self.record(1, count: 3, time: 70), Self.record(4, time: 80), Self.record(5, count: 2, time: 80),
        ])
        #expect(try log.time(of: 4) == 80)
        let expected: [UInt64: Int64] = [1: 70, 2: 70, 3: 70, 4: 80, 5: 80, 6: 80]
        #expect(try log.makeReader().times(of: [0, 6, 3, 1, 2, 4, 5, 7, .max]) == expected)
        // The beginning is missing, and it continues after a gap.
        _ = try log.prune(before: 75, keepingBytes: .max, appliedSequence: 6)
        try log.append([Self.record(9, time: 90)])
        #expect(try log.makeReader().times(of: 1...10) == [4: 80, 5: 80, 6: 80, 9: 90])
    }

    @Test("can be read while another thread writes it, as far back as it goes and as is wanted")
    func reader() throws {
        let log = try open()
        let reader = log.makeReader()
        func read(after sequence: UInt64, bytesMax: Int = .max) throws -> (start: UInt64, records: [UInt64]) {
            var (start, records): (UInt64, [UInt64]) = (.max, [])
            try reader.forEachRecord(after: sequence, bytesMax: bytesMax) {
                start = $0
            } _: { (record) throws(StorageError) in
                records.append(record.firstSequence)
            }
            return (start, records)
        }
        #expect(try read(after: 0) == (0, []))
        try log.append([Self.record(1, count: 3), Self.record(4), Self.record(5, count: 2)])
        #expect(try read(after: 0) == (0, [1, 4, 5]))
        #expect(try read(after: 1) == (1, [1, 4, 5]))
        #expect(try read(after: 3) == (3, [4, 5]))
        #expect(try read(after: 5) == (5, [5]))
        #expect(try read(after: 6) == (6, []))
        let size = Self.record(5, count: 2).body.count
        #expect(try read(after: 0, bytesMax: size) == (4, [5]))
        #expect(try read(after: 0, bytesMax: size - 1) == (6, []))
        _ = try log.prune(before: 1, keepingBytes: .max, appliedSequence: 4)
        #expect(try read(after: 0) == (3, [4, 5]))
        #expect(try read(after: 5) == (5, [5]))
        // A gap, as a loss of power may leave it.
        try log.append([Self.record(10)])
        #expect(try read(after: 5) == (9, [10]))
        #expect(try read(after: 9) == (9, [10]))
    }

    @Test("finds out whether commits succeed, and leaves nothing behind")
    func probe() throws {
        let disk = SimulatedDisk()
        let log = try LogFile(path: disk.path + "/a.log", durability: .full, newEpoch: 1)
        try log.append([Self.record(1)])
        try log.probe()
        disk.fail(after: 0, .full)
        #expect(throws: StorageError.full) { try log.append([Self.record(2)]) }
        #expect(throws: StorageError.full) { try log.probe() }
        disk.heal()
        try log.probe()
        try log.append([Self.record(2)])
        #expect(try records(log).map(\.firstSequence) == [1, 2])
    }

    @Test("notices a row that was changed")
    func damage() throws {
        try open().append([Self.record(1), Self.record(2)])
        let connection = try Connection(path: path, mode: .readWrite)
        for column in [
            "count = 2", "time = 5", "body = replace(body, 'x', 'y')", "checksum = 0", "count = -126", "count = 0",
        ] {
            try connection.execute("BEGIN; UPDATE log SET \(column) WHERE first = 2; COMMIT")
            #expect(throws: StorageError.damaged("log row 2"), "\(column)") { try records(try open(), after: 0) }
            try connection.execute("DELETE FROM log WHERE first = 2")
            let log = try open()
            #expect(try records(log).count == 1)
            try log.append([Self.record(2)])
        }
    }

    @Test("notices a number of operations that no row has, wherever it is read", arguments: [-126, 0, .max] as [Int64])
    func impossibleCount(count: Int64) throws {
        do {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
            for number in 1...210 {
                let value = IncomingValue(json: CanonicalJSON(integer: Int64(number)))
                try disk.commit(disk.process([[.set(WriteTarget(path: "a"), value)]]))
            }
        }
        let backup = folder.path + "/copy"
        _ = try Backup.make(of: "a", in: folder.path, to: backup)
        func damage(_ row: Int, of file: String) throws {
            try Connection(path: file, mode: .readWrite).execute(
                "UPDATE log SET count = \(count) WHERE first = \(row)")
        }
        for file in [path, backup] { try damage(200, of: file) }
        let error = #expect(throws: BackupError.self) { try Backup.check(backup) }
        #expect(error?.message.hasSuffix("log row 200") == true, "\(error?.message ?? "")")
        do {
            let log = try open()
            let reader = log.makeReader()
            let damage = StorageError.damaged("log row 200")
            #expect(throws: damage) { try records(log) }
            #expect(throws: damage) { try reader.forEachRecord(after: 0, bytesMax: .max, begin: { _ in }) { _ in } }
            #expect(throws: damage) {
                try reader.forEachRecordBackwards(before: nil) { _ in
                    true
                } end: {
                }
            }
            #expect(
                LogVerification("a", in: folder.path).problems.contains(
                    "record 200: its number of operations is impossible"))
            #expect(try !log.prune(before: .max, keepingBytes: .max, appliedSequence: 210))
            #expect(try log.connection.integer("SELECT min(first) FROM log") == 200)
        }
        try damage(210, of: path)
        #expect(throws: StorageError.damaged("log row 210")) { try open() }
        #expect(throws: BackupError.self) { try Backup.make(of: "a", in: folder.path, to: folder.path + "/other") }
    }

    // MARK: Texts in parts

    /// A record of one operation whose value has been stored in parts, and what it says.
    private static func largeRecord(_ first: UInt64, bytes: Int, in log: LogFile) throws -> LogRecord {
        let children = (0..<bytes / 12).map { #""k\#(100_000 + $0)":\#($0 % 10)"# }.joined(separator: ",")
        let value = CanonicalJSON(stringLiteral: "{\(children)}")
        let batch = log.beginParts()
        var checksums: [UInt64] = []
        while let range = StoredText.part(checksums.count, of: value) {
            checksums.append(try log.append(range, of: value, number: checksums.count, batch: batch))
        }
        var record = LogRecord(firstSequence: first, time: 5)
        record.append(.set(Assignment(target: WriteTarget(path: "before"), value: "1")), uid: [])
        record.storedValue = StoredText(value, batch: batch, checksums: checksums)
        record.append(.set(Assignment(target: WriteTarget(path: "large"), value: value)), uid: Array("ada".utf8))
        record.append(.set(Assignment(target: WriteTarget(path: "behind"), value: "2")), uid: [])
        return record
    }

    private func partCount() throws -> Int64? {
        try Connection(path: path, mode: .readWrite).integer("SELECT count(*) FROM part")
    }

    @Test("gives back a record whose text was stored in parts before it as if it were one piece")
    func parts() throws {
        let written: [LogRecord]
        do {
            let log = try open()
            let large = try Self.largeRecord(2, bytes: 3 << 20, in: log)
            // The record itself is small.
            #expect(large.body.count < 100)
            #expect(large.byteCount > 3 << 20)
            written = [Self.record(1), large, Self.record(5)]
            try log.append(written)
        }
        let log = try open()
        #expect(try records(log) == written)
        #expect(try records(log)[1].operations() == written[1].operations())
        var backwards: [LogRecord] = []
        try log.makeReader().forEachRecordBackwards(before: nil) { record in
            backwards.append(record)
            return true
        } end: {
        }
        #expect(backwards == written.reversed())
        // It counts as all that it says.
        var start: UInt64 = 0
        try log.makeReader().forEachRecord(after: 0, bytesMax: 1 << 20, begin: { start = $0 }) { _ in }
        #expect(start == 4)
        #expect(try partCount() == 13)
        while try log.prune(before: 100, keepingBytes: .max, appliedSequence: 5) {}
        while try log.prune(before: 100, keepingBytes: .max, appliedSequence: 5) {}
        #expect(try partCount() == 0)
        #expect(try records(log, after: 4) == [written[2]])
    }

    @Test("loses no more than it is too large by, though texts of records are in parts")
    func sizeOfParts() throws {
        let log = try open()
        for number in 0..<8 as Range<UInt64> {
            try log.append([try Self.largeRecord(1 + 3 * number, bytes: 10 * StoredText.partBytes, in: log)])
        }
        let connection = try Connection(path: path, mode: .readWrite)
        let pages = try #require(try connection.integer("PRAGMA page_count"))
        let pageSize = try #require(try connection.integer("PRAGMA page_size"))
        let bytesMax = pages * pageSize - 1000
        while try log.prune(before: 0, keepingBytes: bytesMax, appliedSequence: 100) {}
        #expect(try records(log, after: 3).map(\.firstSequence) == [4, 7, 10, 13, 16, 19, 22])
    }

    @Test("removes parts for which no record came, and none while it may come")
    func strayParts() throws {
        do {
            let log = try open()
            _ = try Self.largeRecord(1, bytes: 10 * StoredText.partBytes, in: log)
            #expect(try !log.prune(before: 0, keepingBytes: .max, appliedSequence: 0))
            #expect(try partCount() == 10)
        }
        // As after a crash.
        let log = try open()
        let kept = try Self.largeRecord(1, bytes: 2 * StoredText.partBytes, in: log)
        #expect(try log.prune(before: 0, keepingBytes: .max, appliedSequence: 0))
        #expect(try partCount() == 10 + 2 - 8)
        #expect(try !log.prune(before: 0, keepingBytes: .max, appliedSequence: 0))
        #expect(try partCount() == 2)
        try log.append([kept])
        _ = try Self.largeRecord(4, bytes: StoredText.partBytes, in: log)
        log.dropParts()
        while try log.prune(before: 0, keepingBytes: .max, appliedSequence: 0) {}
        #expect(try partCount() == 2)
        #expect(try records(log) == [kept])
    }

    @Test("notices a part that was changed or is missing")
    func damagedPart() throws {
        do {
            let log = try open()
            try log.append([try Self.largeRecord(1, bytes: 2 << 20, in: log)])
        }
        let connection = try Connection(path: path, mode: .readWrite)
        let changes = [
            "UPDATE part SET data = replace(data, 'k10', 'k20')", "UPDATE part SET checksum = checksum + 1",
            "UPDATE large SET offset = offset + 1", "DELETE FROM part WHERE id = (SELECT max(id) FROM part)",
            "DELETE FROM large", "UPDATE large SET bytes = \(Int64.max)", "UPDATE large SET bytes = \(Int64.min)",
            "UPDATE large SET offset = \(Int64.max)", "UPDATE large SET batch = \(Int64.max)",
        ]
        for change in changes {
            try connection.execute("SAVEPOINT before; \(change)")
            #expect(throws: StorageError.damaged("log row 1"), "\(change)") {
                try LogFile.forEachRecord(in: connection, after: 0) { _ in }
            }
            try connection.execute("ROLLBACK TO before; RELEASE before")
        }
        for change in ["bytes = \(Int64.min)", "bytes = \(Int64.max)", "batch = \(Int64.max)"] {
            try connection.execute("UPDATE large SET \(change) WHERE first = 1")
            let log = try open()
            let next = try Self.largeRecord(log.lastSequence + 1, bytes: 2 << 20, in: log)
            try log.append([next])
            #expect(try records(log, after: next.firstSequence - 1) == [next], "\(change)")
            _ = try log.prune(before: 0, keepingBytes: 1 << 50, appliedSequence: 3)
            var start: UInt64 = 0
            let reader = log.makeReader()
            #expect(throws: StorageError.damaged("log row 1"), "\(change)") {
                try reader.forEachRecord(after: 0, bytesMax: .max, begin: { start = $0 }) { _ in }
            }
            #expect(start == 0, "\(change)")
        }
    }
}
