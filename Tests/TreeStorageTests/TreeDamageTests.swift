import Glibc
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
import Synchronization
import HearthTestSupport
import Testing

@testable import HearthTreeStorage
import HearthStorageErrors

@Suite("a damaged tree file")
struct TreeDamageTests {
    private let folder = TemporaryFolder()
    private var file: String { folder.path + "/a.tree" }

    /// A database that was closed in good order, all of it in its main files.
    private func fill(seed: UInt64 = 1) throws -> DiskWorkload {
        var work = DiskWorkload(seed: seed)
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
        for _ in 0..<30 { try work.run(work.nextStep(), on: disk) }
        try work.run(.commit(3), on: disk)
        // What was begun before, then the rest.
        for _ in 0..<2 { try disk.apply() }
        while disk.tree.isClearing { try disk.tree.clearSome() }
        _ = try disk.tree.emptyWriteAheadFile()
        return work
    }

    private func change(_ sql: String) throws { try Connection(path: file, mode: .readWrite).execute(sql) }

    private var problems: [String] { DatabaseCheck("a", in: folder.path, isServed: false).problems }

    private func read(_ path: Path, reporting reports: (@Sendable (StorageError) -> Void)? = nil) throws
        -> CanonicalJSON
    {
        let tree = try TreeFile(path: file, durability: .memory) { reports?($0) }
        let database = Database(index: 0, store: try tree.makeReader(), sequence: tree.sequence)
        return try database.rows.read(path)
    }

    @Test("refuses a row of which one byte was changed, and names it; others are read")
    func oneByte() throws {
        do {
            let disk = try DatabaseOnDisk(folder: folder.path)
            let large = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 100))
            for path in ["account/balance", "account/note", "other"] as [Path] {
                let value = path == "account/balance" ? CanonicalJSON(integer: 100_000) : large
                try disk.commit(disk.process([[.set(WriteTarget(path: path), IncomingValue(json: value))]]))
            }
            try disk.apply()
            _ = try disk.tree.emptyWriteAheadFile()
        }
        #expect(problems == [])
        var bytes = TemporaryFolder.contents(of: file)
        let old = Array("100000".utf8)
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: old) })
        bytes[place] = UInt8(ascii: "9")
        TemporaryFolder.write(bytes, to: file)
        let reports = Mutex<[StorageError]>([])
        #expect(throws: (any Error).self) {
            try read("account/balance") { error in reports.withLock { $0.append(error) } }
        }
        #expect(
            Set(reports.withLock { $0 }) == [.damaged("the row of /account/balance has a wrong checksum (\(file))")])
        #expect(try read("other").bytes.count == 102)
        #expect(problems.contains("\(file): the row of /account/balance has a wrong checksum"))
        let error = #expect(throws: BackupError.self) {
            try Backup.make(of: "a", in: folder.path, to: folder.path + "/copy")
        }
        #expect(error?.message == "the database file is damaged: the row of /account/balance has a wrong checksum")
        #expect(access(folder.path + "/copy", F_OK) != 0)
    }

    @Test("is never read as something else, and the check notices every change of what is stored")
    func anyByte() throws {
        let work = try fill()
        let (tree, bytes) = (try #require(work.trees.last), TemporaryFolder.contents(of: file))
        #expect(problems == [])
        // Unused parts are mostly zero.
        let places = bytes.indices.dropFirst(100).filter { bytes[$0] != 0 }
        var random = SeededRandom(seed: 11)
        var refused = 0
        for _ in 0..<(60 * TestScale.factor) {
            var damaged = bytes
            let place = places[Int.random(in: places.indices, using: &random)]
            damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            TemporaryFolder.write(damaged, to: file)
            if let found = try? read(.root), found != tree {
                // A row that is not found cannot be told by reading; the totals know of it.
                Self.expectPart(found, of: tree, "byte \(place)")
                #expect(!problems.isEmpty, "byte \(place)")
            } else if !problems.isEmpty {
                refused += 1
            }
        }
        #expect(refused > 5)
    }

    /// Whether all leaves of a value are those of another.
    private static func expectPart(_ part: CanonicalJSON, of whole: CanonicalJSON, _ comment: Comment) {
        let all = leaves(of: whole)
        #expect(leaves(of: part).allSatisfy { all[$0.key] == $0.value }, comment)
    }

    private static func leaves(of value: CanonicalJSON) -> [[UInt8]: CanonicalJSON] {
        var leaves: [[UInt8]: CanonicalJSON] = [:]
        func visit(_ value: CanonicalJSON, at place: [UInt8]) {
            if value.isLeaf {
                leaves[place] = value
                return
            }
            for child in value.children {
                var next = place
                child.appendSegment(to: &next)
                visit(value.part(child.value), at: next)
            }
        }
        visit(value, at: [])
        return leaves
    }

    @Test(
        "is noticed by the check where rows are missing, were swapped or have other numbers",
        arguments: [
            "DELETE FROM row WHERE key = (SELECT max(key) FROM row)",
            "DELETE FROM row WHERE key = (SELECT min(key) FROM row)", "UPDATE row SET sequence = sequence + 1",
            "UPDATE row SET checksum = 0 WHERE key = (SELECT max(key) FROM row)",
            "INSERT INTO row VALUES (x'ff', 1, 1, x'31')",
            "UPDATE meta SET value = value - 1 WHERE name = 'sequence'",
            "DELETE FROM meta WHERE name = 'total of row'",
            "INSERT INTO index_entry VALUES (x'01', 1, 1)", "INSERT INTO owed VALUES (1, x'00', 1)",
            "INSERT INTO cleared VALUES (x'00', x'ff', 1000000, 1)",
        ])
    func changedTables(sql: String) throws {
        _ = try fill(seed: 2)
        #expect(problems == [])
        try change(sql)
        #expect(!problems.isEmpty)
    }

    @Test("has the totals of what is in it after every step, also after one that failed")
    func totals() throws {
        var work = DiskWorkload(seed: 3)
        let disk = SimulatedDisk()
        let database = try DatabaseOnDisk(folder: disk.path)
        for step in 0..<60 {
            let next = work.nextStep()
            try work.run(next, on: database)
            guard step.isMultiple(of: 6) else { continue }
            disk.observe { call, path in
                if case .write = call, path == "a.tree-wal" { EIO } else { 0 }
            }
            try? database.apply()
            _ = try? database.tree.clearSome()
            disk.observe(nil)
            #expect(DatabaseCheck("a", in: disk.path, isServed: true).problems == [], "step \(step)")
        }
    }

    @Test("of version 0 has no checksums and no outbox: it gets them when it is opened, as does one in a backup")
    func withoutChecksums() throws {
        try expectUpgrade(from: 0) {
            try change(
                """
                CREATE TABLE old_row (key BLOB PRIMARY KEY, sequence INTEGER NOT NULL, value BLOB NOT NULL)
                    WITHOUT ROWID;
                INSERT INTO old_row SELECT key, sequence, value FROM row;
                CREATE TABLE old_cleared (lower BLOB PRIMARY KEY, upper BLOB NOT NULL, sequence INTEGER NOT NULL)
                    WITHOUT ROWID;
                CREATE TABLE old_index_entry (key BLOB PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID;
                INSERT INTO old_index_entry VALUES (x'05', 1);
                CREATE TABLE old_cleared_entry (lower BLOB PRIMARY KEY, upper BLOB NOT NULL, sequence INTEGER NOT NULL)
                    WITHOUT ROWID;
                INSERT INTO old_cleared_entry VALUES (x'05', x'06', 9);
                CREATE TABLE old_owed (connection INTEGER PRIMARY KEY, writes BLOB NOT NULL);
                CREATE TABLE old_meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
                INSERT INTO old_meta SELECT name, value FROM meta WHERE name IN ('sequence', 'stamp', 'indexes');
                DROP TABLE outbox;
                """)
            for table in ["row", "cleared", "index_entry", "cleared_entry", "owed", "meta"] {
                try change("DROP TABLE \(table); ALTER TABLE old_\(table) RENAME TO \(table)")
            }
        }
    }

    @Test("of version 1 has no outbox: it gets one when it is opened, as does one in a backup")
    func withoutOutbox() throws {
        try expectUpgrade(from: 1) { try change("DROP TABLE outbox") }
    }

    private func expectUpgrade(from version: Int64, _ makeEarlier: () throws -> Void) throws {
        let work = try fill(seed: 4)
        let before = try read(.root)
        try makeEarlier()
        try change("PRAGMA user_version = \(version)")
        #expect(try tablesWithoutChecksums() == (version == 0 ? Self.tables.filter { $0 != "outbox" } : []))
        // A backup of it is as old as it is.
        let copy = folder.path + "/copy"
        _ = try Backup.make(of: "a", in: folder.path, to: copy)
        #expect(try Backup.check(copy).sequence == work.acknowledged)
        let target = TemporaryFolder()
        _ = try Backup.restore(copy, as: "a", in: target.path) { _ in }
        #expect(work.problem(in: target.path) == nil)
        #expect(DatabaseCheck("a", in: target.path, isServed: false).problems == [])

        #expect(try read(.root) == before)
        #expect(problems == [])
        #expect(try Connection(path: file, mode: .readOnly).integer("PRAGMA user_version") == TreeFormat.version)
        #expect(try tablesWithoutChecksums() == [])
        #expect(try Connection(path: file, mode: .readOnly).integer("SELECT count(*) FROM outbox") == 0)
        #expect(work.problem(in: folder.path) == nil)
        try change("PRAGMA user_version = 99")
        let error = #expect(throws: StorageError.self) { try TreeFile(path: file, durability: .memory) }
        #expect(error?.message.hasPrefix("\(file) was written by a newer version of hearth") == true)
    }

    private static let tables = ["cleared", "cleared_entry", "index_entry", "meta", "outbox", "owed", "row"]

    private func tablesWithoutChecksums() throws -> [String] {
        let select = try Connection(path: file, mode: .readOnly).prepare(
            """
            SELECT name FROM sqlite_schema AS file WHERE type = 'table'
                AND NOT EXISTS (SELECT 1 FROM pragma_table_info(file.name) AS info WHERE info.name = 'checksum')
                ORDER BY name
            """)
        var names: [String] = []
        while try select.step() { names.append(String(decoding: select.blob(0), as: UTF8.self)) }
        return names
    }
}

@Suite("a damaged write-ahead file")
struct WriteAheadFileTests {
    /// A log with so many commits in its write-ahead file, as a crash leaves it.
    private func logAfterCrash(
        commits: Int, ofCluster: Bool = false
    ) throws -> (folder: TemporaryFolder, wal: String) {
        let folder = TemporaryFolder()
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
        if ofCluster { try disk.log.markAsOfCluster() }
        for number in 0..<commits {
            let value = IncomingValue(json: CanonicalJSON(integer: Int64(number)))
            try disk.commit(disk.process([[.set(WriteTarget(path: "a"), value)]]))
        }
        let copy = TemporaryFolder()
        for name in TemporaryFolder.files(in: folder.path) where !name.hasSuffix("-shm") {
            TemporaryFolder.write(TemporaryFolder.contents(of: "\(folder.path)/\(name)"), to: "\(copy.path)/\(name)")
        }
        return (copy, copy.path + "/a.log-wal")
    }

    @Test(
        "is noticed where commits are lost that were on the disk, and the end that a crash leaves is not taken for it")
    func lostCommits() throws {
        let (folder, wal) = try logAfterCrash(commits: 10)
        #expect(!WriteAheadFile.hasLostCommits(wal))
        #expect(!WriteAheadFile.hasLostCommits(wal + "none"))
        let bytes = TemporaryFolder.contents(of: wal)
        let whole = try LogFile(path: folder.path + "/a.log", durability: .full, newEpoch: 1).lastSequence
        #expect(whole == 10)
        // Cut anywhere, as by a loss of power.
        for count in [0, 31, 32, 100, bytes.count / 2, bytes.count - 1] {
            TemporaryFolder.write(Array(bytes[..<count]), to: wal)
            #expect(!WriteAheadFile.hasLostCommits(wal), "\(count) bytes")
        }
        // The last commit half written.
        var torn = bytes
        torn[bytes.count - 100] ^= 1
        TemporaryFolder.write(torn, to: wal)
        #expect(!WriteAheadFile.hasLostCommits(wal))
        var damaged = bytes
        damaged[bytes.count / 2] ^= 1
        TemporaryFolder.write(damaged, to: wal)
        #expect(WriteAheadFile.hasLostCommits(wal))
        #expect(
            DatabaseCheck("a", in: folder.path, isServed: false).problems.contains {
                $0.hasSuffix("a.log-wal: commits that were on the disk are lost")
            })
        let data = try DataFolder(path: folder.path, durability: .full)
        var warnings: [String] = []
        _ = try? data.open("a", newEpoch: 1) { warnings.append($0) }
        #expect(warnings.first == "\(wal) is damaged: commits that were on the disk are lost")
    }

    @Test(
        "of a node's log is what a loss of power leaves, and costs commits if the server goes on without the cluster",
        arguments: [true, false])
    func node(isShared: Bool) throws {
        let (folder, wal) = try logAfterCrash(commits: 10, ofCluster: true)
        var bytes = TemporaryFolder.contents(of: wal)
        bytes[bytes.count / 2] ^= 1
        TemporaryFolder.write(bytes, to: wal)
        // The tree would be ahead of the log.
        for suffix in ["", "-wal"] { unlink("\(folder.path)/a.tree\(suffix)") }
        let data = try DataFolder(path: folder.path, durability: .full)
        var warnings: [String] = []
        let log = try data.open("a", newEpoch: 1, isShared: isShared) { warnings.append($0) }.log
        #expect(log.isOfCluster)
        #expect(log.lastSequence < 10)
        let expected = [
            "\(wal) is damaged: commits that were on the disk are lost",
            "the files are those of a node of a cluster, until this server writes to them",
        ]
        #expect(warnings == (isShared ? [] : expected))
    }
}
