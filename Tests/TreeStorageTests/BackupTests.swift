import Glibc
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthSQLite
import HearthTestSupport
import Testing
import HearthTreeStorage
import HearthStorageErrors

@Suite("a backup")
struct BackupTests {
    private let folder = TemporaryFolder()
    private let target = TemporaryFolder()
    private var file: String { folder.path + "/copy" }

    /// A folder with a database that has done some work, `unapplied` operations of it only in the log.
    private func fill(seed: UInt64) throws -> DiskWorkload {
        var work = DiskWorkload(seed: seed)
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
        for _ in 0..<20 { try work.run(work.nextStep(), on: disk) }
        try work.run(.commit(3), on: disk)
        return work
    }

    private func restore(_ name: String? = nil) throws(BackupError) -> Backup.Restored {
        try Backup.restore(file, as: name, in: target.path) { _ in }
    }

    @Test("of a database in use, at any time, holds all that was acknowledged and nothing else")
    func anyTime() throws {
        for seed in 0..<(6 * TestScale.factor) {
            let folder = TemporaryFolder()
            var work = DiskWorkload(seed: seed)
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
            var made = 0
            for step in 0..<48 {
                try work.run(work.nextStep(), on: disk)
                guard step % 8 == 7 else { continue }
                let target = TemporaryFolder()
                let summary = try Backup.make(of: "a", in: folder.path, to: folder.path + "/copy")
                #expect(summary.sequence == work.acknowledged, "seed \(seed), step \(step)")
                #expect(try Backup.check(folder.path + "/copy") == summary, "seed \(seed), step \(step)")
                _ = try Backup.restore(folder.path + "/copy", as: nil, in: target.path) { _ in }
                #expect(work.problem(in: target.path) == nil, "seed \(seed), step \(step)")
                made += 1
            }
            #expect(made == 6)
        }
    }

    @Test("of a database at rest is as good, and changes nothing")
    func atRest() throws {
        let work = try fill(seed: 3)
        let summary = try Backup.make(of: "a", in: folder.path, to: file)
        #expect(summary.database == "a")
        #expect(summary.sequence == work.acknowledged)
        #expect(summary.rows > 0)
        #expect(summary.byteCount == TemporaryFolder.contents(of: file).count)
        #expect(work.problem(in: folder.path) == nil)
        #expect(TemporaryFolder.files(in: folder.path).filter { $0.hasPrefix("copy") } == ["copy"])
        var status = stat()
        #expect(stat(file, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test("continues where it ends: numbers are not used again, and positions are not known")
    func goesOn() throws {
        let work = try fill(seed: 4)
        _ = try Backup.make(of: "a", in: folder.path, to: file)
        let restored = try restore("b")
        #expect((restored.database, restored.keptFiles) == ("b", []))
        let data = try DataFolder(path: target.path, durability: .full)
        let (log, tree) = try data.open("b", newEpoch: 1)
        #expect(log.epochs == Epochs(current: .init(name: 1, start: work.acknowledged)))
        #expect(log.lastSequence == work.acknowledged)
        #expect(tree.sequence <= log.lastSequence)
    }

    @Test("has what connections want written when they end, with server values, in its rows and in its log")
    func owed() throws {
        do {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
            for (index, path) in ["a", "b"].map({ Path(stringLiteral: $0) }).enumerated() {
                let value = IncomingValue(json: #"{".sv":"timestamp"}"#, hasServerValues: true)
                try disk.commit(disk.process([[.onDisconnect([(WriteTarget(path: path), value)])]]))
                if index == 0 { try disk.apply() }
            }
        }
        #expect(try Backup.make(of: "a", in: folder.path, to: file).sequence == 2)
        _ = try restore()
        let (log, tree) = try DataFolder(path: target.path, durability: .full).open("a", newEpoch: 1)
        #expect(log.lastSequence == 2)
        #expect(tree.sequence == 1)
        let owed = try tree.makeReader().owedWrites()
        #expect(owed.values.map { $0.assignments.map(\.target.path) } == [["a"]])
        try Connection(path: file, mode: .readWrite).execute("UPDATE owed SET writes = x'020000'")
        let error = #expect(throws: BackupError.self) { try Backup.check(file) }
        #expect(error?.message.contains("an on-disconnect write") == true)
    }

    @Test("has the history that the settings keep, unless it is left out, and what is damaged in it is found")
    func history() throws {
        let kept = [HistoryDefinition(pattern: try #require(IndexPattern(text: "rooms")), keep: nil)]
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
        let history = try HistoryFile("a", in: folder.path, durability: .memory)
        for number in 1...5 as ClosedRange<Int64> {
            let value = IncomingValue(json: CanonicalJSON(integer: number))
            try disk.commit(disk.process([[.set(WriteTarget(path: "rooms/a"), value)]]))
            _ = try history.advance(kept, now: 0)
        }
        #expect(try Backup.make(of: "a", in: folder.path, to: file, hasHistory: false).changes == nil)
        #expect(try Backup.check(file).changes == nil)
        #expect(try Backup.make(of: "a", in: folder.path, to: file).changes == 5)
        #expect(try Backup.check(file).changes == 5)
        let good = TemporaryFolder.contents(of: file)
        for (damage, message) in [
            ("UPDATE kept_change SET value = x'78' WHERE sequence = 3", "a change of its history is invalid"),
            ("UPDATE kept_change SET value = x'37' WHERE sequence = 3", "its history is not the one that was copied"),
            ("DELETE FROM kept_moment WHERE sequence = 3", "its history is not the one that was copied"),
        ] {
            try Connection(path: file, mode: .readWrite).execute(damage)
            let error = #expect(throws: BackupError.self, "\(damage)") { try restore() }
            #expect(error?.message.contains(message) == true, "\(damage): \(error?.message ?? "")")
            TemporaryFolder.write(good, to: file)
        }
        try Connection(path: folder.path + "/a.history", mode: .readWrite).execute(
            "INSERT OR REPLACE INTO meta VALUES ('fold', 7)")
        let error = #expect(throws: BackupError.self) { try Backup.make(of: "a", in: folder.path, to: file) }
        #expect(error?.message.contains("a.history and a.past do not belong together: --no-history") == true)
        #expect(try Backup.make(of: "a", in: folder.path, to: file, hasHistory: false).changes == nil)
        TemporaryFolder.write(good, to: file)
        // It takes the place of the one that is there, which is kept beside it.
        for count in [0, 4] {
            #expect(try restore().keptFiles.count == count)
            let restored = try HistoryFile("a", in: target.path, durability: .memory)
            try restored.follow(kept)
            let commits = try restored.commits(at: "rooms", before: nil, limit: 9).commits
            #expect(commits.map(\.sequence) == [5, 4, 3, 2, 1])
            #expect(try restored.value(at: "rooms/a", after: 2) == "2")
        }
    }

    @Test("keeps what was there, which can still be opened")
    func keeps() throws {
        let work = try fill(seed: 5)
        _ = try Backup.make(of: "a", in: folder.path, to: file)
        _ = try restore()
        let value: CanonicalJSON
        do {
            let later = try DatabaseOnDisk(folder: target.path, durability: .memory)
            try later.commit(later.process([[.set(WriteTarget(path: "new"), IncomingValue(json: "1"))]]))
            value = try later.value()
        }
        for _ in 0..<2 {
            let restored = try restore()
            #expect(restored.keptFiles.count == 2)
            #expect(work.problem(in: target.path) == nil)
            // Under their old names elsewhere.
            let elsewhere = TemporaryFolder()
            for kept in restored.keptFiles {
                let name = try #require(kept.split(separator: "/").last).split(separator: ".").prefix(2)
                for suffix in ["", "-wal"] where access(kept + suffix, F_OK) == 0 {
                    let bytes = TemporaryFolder.contents(of: kept + suffix)
                    TemporaryFolder.write(bytes, to: "\(elsewhere.path)/\(name.joined(separator: "."))\(suffix)")
                }
            }
            let old = try DatabaseOnDisk(folder: elsewhere.path, durability: .memory)
            #expect(try old.value() == value || old.value() == work.trees[Int(work.acknowledged)])
        }
    }

    @Test("is not put in the place of a database that a server has")
    func locked() throws {
        _ = try fill(seed: 6)
        _ = try Backup.make(of: "a", in: folder.path, to: file)
        let server = try DataFolder(path: target.path, durability: .full)
        let path = target.path
        #expect(throws: BackupError(StorageError.busy("another server uses the data folder \(path)"))) {
            try restore()
        }
        #expect(TemporaryFolder.files(in: target.path) == ["lock"])
        withExtendedLifetime(server) {}
    }

    @Test("that is damaged anywhere is refused, or its damage is where nothing is")
    func damage() throws {
        let work = try fill(seed: 8)
        _ = try Backup.make(of: "a", in: folder.path, to: file)
        let bytes = TemporaryFolder.contents(of: file)
        var random = SeededRandom(seed: 8)
        var refused = 0
        for _ in 0..<(80 * TestScale.factor) {
            var damaged = bytes
            let place = Int.random(in: 0..<bytes.count, using: &random)
            damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            TemporaryFolder.write(damaged, to: file)
            do throws(BackupError) {
                _ = try Backup.restore(file, as: "a", in: target.path) { _ in }
                #expect(work.problem(in: target.path) == nil, "byte \(place)")
            } catch {
                refused += 1
            }
        }
        // Cut short.
        for count in [0, 100, bytes.count / 2, bytes.count - 1] {
            TemporaryFolder.write(Array(bytes[..<count]), to: file)
            let error = #expect(throws: BackupError.self) { try restore() }
            #expect(error?.message.hasPrefix("\(file): ") == true)
        }
        #expect(refused > 5)
    }

    @Test(
        "of which a row, a turn or a number was changed is refused",
        arguments: [
            "UPDATE row SET value = CAST('1' AS BLOB) WHERE key = (SELECT min(key) FROM row)",
            "UPDATE row SET value = CAST('{\"b\":1,\"a\":1}' AS BLOB)",
            "UPDATE row SET key = x'20' WHERE key = (SELECT max(key) FROM row)",
            "DELETE FROM row WHERE key = (SELECT max(key) FROM row)", "UPDATE row SET sequence = 100000",
            "UPDATE log SET body = x'00'", "UPDATE log SET time = time + 1", "DELETE FROM log",
            "DELETE FROM log WHERE first = (SELECT max(first) FROM log)",
            "UPDATE meta SET value = value - 1 WHERE name = 'sequence'",
            "UPDATE meta SET value = value + 10 WHERE name = 'sequence'",
            "UPDATE backup SET value = 3 WHERE name = 'version'",
            "PRAGMA application_id = 1", "DROP TABLE log", "DROP TABLE row",
        ])
    func changed(sql: String) throws {
        var work = DiskWorkload(seed: 9)
        do {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
            for _ in 0..<20 { try work.run(work.nextStep(), on: disk) }
            try disk.commit(disk.process([[.set(WriteTarget(path: "a"), IncomingValue(json: "2"))]]))
            try disk.apply()
            while disk.tree.isClearing { try disk.tree.clearSome() }
            try disk.commit(disk.process([[.set(WriteTarget(path: "b"), IncomingValue(json: "2"))]]))
            try disk.commit(disk.process([[.set(WriteTarget(path: "c"), IncomingValue(json: "2"))]]))
        }
        _ = try Backup.make(of: "a", in: folder.path, to: file)
        _ = try Backup.check(file)
        try Connection(path: file, mode: .readWrite).execute(sql)
        // A log that ends early cannot be told from an earlier backup, unless the rows need it.
        if sql.contains("max(first)") {
            #expect(try Backup.check(file).sequence > 0)
        } else {
            let error = #expect(throws: BackupError.self) { try Backup.check(file) }
            #expect(error?.message.hasPrefix("\(file): ") == true)
        }
    }

    @Test("of what is not there, or to where nothing can be written, says so")
    func errors() throws {
        let path = folder.path
        #expect(throws: BackupError(message: "there is no database a in \(path)")) {
            try Backup.make(of: "a", in: path, to: file)
        }
        #expect(throws: BackupError(message: "there is no database ../a in \(path)")) {
            try Backup.make(of: "../a", in: path, to: file)
        }
        _ = try fill(seed: 10)
        let error = #expect(throws: BackupError.self) { try Backup.make(of: "a", in: path, to: path + "/none/copy") }
        #expect(error?.message == "cannot write \(path)/none/copy.part: No such file or directory")
        let unreadable = #expect(throws: BackupError.self) { try restore() }
        #expect(unreadable?.message == "cannot read \(file): No such file or directory")
        TemporaryFolder.write(Array("{}".utf8), to: file)
        let noBackup = #expect(throws: BackupError.self) { try restore() }
        #expect(noBackup?.message.hasPrefix("\(file): ") == true)
    }
    @Test("does not make its file again that was removed because the process ends") func removed() throws {
        #expect(throws: StorageError.self) { try Connection(path: file, mode: .joiningExisting) }
        #expect(TemporaryFolder.files(in: folder.path) == [])
        // One that is there is used.
        TemporaryFolder.write([], to: file)
        try Connection(path: file, mode: .joiningExisting).execute("CREATE TABLE t (a)")
    }
}
