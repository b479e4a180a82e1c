import HearthJSONTree
import HearthSQLite
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase
@testable import HearthTreeStorage
import HearthStorageErrors

@Suite("the hash chain of a log")
struct LogChainTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/default.log" }

    private func open() throws -> (log: LogFile, tree: TreeFile) {
        try DataFolder(path: folder.path, durability: .process).open("default", newEpoch: 1)
    }

    private func verification(_ noted: [LogVerification.Head] = []) -> LogVerification {
        LogVerification("default", in: folder.path, noted: noted)
    }

    private static func record(_ first: UInt64, _ value: CanonicalJSON, count: Int = 1) -> LogRecord {
        var record = LogRecord(firstSequence: first, time: Int64(first) * 10)
        for index in 0..<count {
            record.append(.set(Assignment(target: WriteTarget(path: Path([Key(Int32(index))])), value: value)), uid: [])
        }
        return record
    }

    /// Appends records of one to three operations, several to a commit, and opens the file again now and then.
    private func write(_ count: Int, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var log = try open().log
        var left = count
        while left > 0 {
            var records: [LogRecord] = []
            var next = log.lastSequence + 1
            for _ in 0..<Int.random(in: 1...min(4, left), using: &random) {
                let value = CanonicalJSON(integer: Int64.random(in: 0...1_000_000, using: &random))
                records.append(Self.record(next, value, count: Int.random(in: 1...3, using: &random)))
                next = records[records.count - 1].lastSequence + 1
            }
            try log.append(records)
            left -= records.count
            if Int.random(in: 0..<5, using: &random) == 0 { log = try open().log }
        }
    }

    private func edit(_ sql: String) throws { try Connection(path: path, mode: .readWrite).execute(sql) }

    @Test("is whole after commits, restarts and pruning, and its head is the same whenever it is computed")
    func whole() throws {
        try write(40, seed: 1)
        let all = verification()
        #expect(all.problems == [])
        #expect(all.records == 40)
        #expect(all.edge == 0)
        #expect(all.erasedCount == 0)
        let head = try #require(all.head)
        #expect(LogVerification.Head(head.text) == head)
        let (log, _) = try open()
        _ = try log.prune(before: 300, keepingBytes: .max, appliedSequence: log.lastSequence)
        let pruned = verification([head])
        #expect(pruned.problems == [])
        #expect(pruned.records < 40)
        #expect(pruned.edge > 0)
        #expect(pruned.head == head)
        try write(3, seed: 2)
        #expect(verification([head]).problems == [])
    }

    @Test("covers texts that are stored in parts")
    func parts() throws {
        let log = try open().log
        let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 3 << 20))
        let batch = log.beginParts()
        var checksums: [UInt64] = []
        while let range = StoredText.part(checksums.count, of: text) {
            checksums.append(try log.append(range, of: text, number: checksums.count, batch: batch))
        }
        var record = LogRecord(firstSequence: 1, time: 5)
        record.storedValue = StoredText(text, batch: batch, checksums: checksums)
        record.append(.set(Assignment(target: WriteTarget(path: "large"), value: text)), uid: [])
        try log.append([record, Self.record(2, "1")])
        #expect(verification().problems == [])
        for change in [
            "UPDATE part SET data = replace(data, 'x', 'y') WHERE id & 7 = 3", "UPDATE large SET offset = offset + 1",
            "DELETE FROM part WHERE id & 7 = 2", "DELETE FROM large",
        ] {
            let copy = try Connection(path: path, mode: .readWrite)
            try copy.execute("CREATE TABLE kept_part AS SELECT * FROM part; CREATE TABLE kept AS SELECT * FROM large")
            try copy.execute(change)
            #expect(verification().problems.count == 1, "\(change)")
            #expect(verification().problems.first?.hasPrefix("record 1:") == true, "\(change)")
            try copy.execute(
                """
                DELETE FROM part; DELETE FROM large; INSERT INTO part SELECT * FROM kept_part;
                INSERT INTO large SELECT * FROM kept; DROP TABLE kept_part; DROP TABLE kept
                """)
        }
        #expect(verification().problems == [])
    }

    @Test("names a record that was changed, any record and any part of it, even with its checksum set right")
    func changed() throws {
        try write(12, seed: 3)
        let connection = try Connection(path: path, mode: .readWrite)
        var numbers: [Int64] = []
        let select = try connection.prepare("SELECT first FROM log ORDER BY first")
        while try select.step() { numbers.append(select.integer(0)) }
        select.reset()
        try connection.execute("CREATE TABLE kept AS SELECT * FROM log")
        for number in numbers {
            for change in [
                "body = body || x'00'", "body = x''", "time = time + 1", "chain = zeroblob(48)", "chain = NULL",
                "chain = substr(chain, 1, 32) || zeroblob(16)", "chain = substr(chain, 1, 32) || zeroblob(32)",
            ] {
                try connection.execute("UPDATE log SET \(change) WHERE first = \(number)")
                let problems = verification().problems
                #expect(problems.first?.hasPrefix("record \(number):") == true, "\(number) \(change)")
                try connection.execute("DELETE FROM log; INSERT INTO log SELECT * FROM kept")
            }
        }
        #expect(verification().problems == [])
    }

    @Test("names records that were removed, at the beginning, between others and at the end")
    func removed() throws {
        try write(12, seed: 4)
        let head = try #require(verification().head)
        let connection = try Connection(path: path, mode: .readWrite)
        try connection.execute("CREATE TABLE kept AS SELECT * FROM log")
        for row in 0..<12 {
            try connection.execute(
                "DELETE FROM log WHERE first = (SELECT first FROM kept ORDER BY first LIMIT 1 OFFSET \(row))")
            let problems = verification([head]).problems
            #expect(problems.contains { $0.contains("missing") }, "row \(row): \(problems)")
            try connection.execute("DELETE FROM log; INSERT INTO log SELECT * FROM kept")
        }
    }

    @Test("without a noted head, the tree tells that the end is missing")
    func endMissing() throws {
        let log = try open().log
        try log.append([Self.record(1, "1"), Self.record(2, "2"), Self.record(3, "3")])
        try Connection(path: folder.path + "/default.tree", mode: .readWrite).execute(
            "UPDATE meta SET value = 3 WHERE name = 'sequence'")
        try edit("DELETE FROM log WHERE first = 3")
        #expect(verification().problems == ["operation 3 is missing at the end: the tree has them"])
    }

    @Test("names records that were put into another order")
    func reordered() throws {
        let log = try open().log
        try log.append((1...6).map { Self.record($0, CanonicalJSON(integer: Int64($0))) })
        try edit(
            """
            UPDATE log SET first = 100 WHERE first = 2; UPDATE log SET first = 2 WHERE first = 5;
            UPDATE log SET first = 5 WHERE first = 100
            """)
        let problems = verification().problems
        #expect(["2", "5"].allSatisfy { number in problems.contains { $0.hasPrefix("record \(number):") } })
    }

    @Test("that was made again for other records does not have the heads that were noted")
    func madeAnew() throws {
        try write(5, seed: 5)
        let noted = try #require(verification().head)
        let last = noted.sequence
        try edit("UPDATE log SET time = time + 1")
        // What somebody does who can write the file.
        let connection = try Connection(path: path, mode: .readWrite)
        var records: [LogRecord] = []
        let select = try connection.prepare("SELECT first, count, time, body FROM log ORDER BY first")
        while try select.step() {
            records.append(
                LogRecord(
                    firstSequence: UInt64(select.integer(0)), count: Int(select.integer(1)), time: select.integer(2),
                    body: select.blob(3)))
        }
        try connection.execute("DELETE FROM log")
        try open().log.append(records)
        #expect(verification().problems == [])
        #expect(
            verification([noted]).problems
                == ["the head at \(last) is not the one that was noted: the chain was made anew"])
        #expect(verification([.init(sequence: last + 1, digest: noted.digest)]).problems.count == 1)
    }

    @Test("begins after the records of an earlier version", arguments: EarlierFolder.all)
    func earlier(version: String) throws {
        let earlier = EarlierFolder(version)
        #expect(LogVerification("default", in: earlier.path).problems.count == 1)
        let log = try DataFolder(path: earlier.path, durability: .process).open("default", newEpoch: 1).log
        try log.append([Self.record(4, "1"), Self.record(5, "2")])
        let found = LogVerification("default", in: earlier.path)
        #expect(found.problems == [])
        #expect(found.edge == 3)
        #expect(found.records == 2)
        #expect(found.recordsBefore > 0)
    }

    @Test("starts over after a backup that was restored")
    func restored() throws {
        try write(8, seed: 6)
        let (backup, target) = (folder.path + "/copy", TemporaryFolder())
        _ = try Backup.make(of: "default", in: folder.path, to: backup)
        _ = try Backup.restore(backup, as: nil, in: target.path) { _ in }
        let log = try DataFolder(path: target.path, durability: .process).open("default", newEpoch: 2).log
        try log.append([Self.record(log.lastSequence + 1, "1")])
        let found = LogVerification("default", in: target.path)
        #expect(found.problems == [])
        #expect(found.records == 1)
    }
}
