import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthSQLite
import HearthSystem
import HearthTestSupport
import Testing

@testable import HearthTreeStorage
import HearthStorageErrors

/// Bytes in files that belong to no row.
@Suite("Erasure of remains in files")
struct ErasureTests {
    private let folder = TemporaryFolder()
    private let marker = "SECRET-MARKER"

    private func definitions(_ patterns: String...) -> [HistoryDefinition] {
        patterns.compactMap(IndexPattern.init(text:)).map { HistoryDefinition(pattern: $0, keep: nil) }
    }

    private func makeFile() throws -> HistoryFile { try HistoryFile("a", in: folder.path, durability: .process) }

    private func set(_ disk: DatabaseOnDisk, _ path: Path, _ value: CanonicalJSON, at time: Int64) throws {
        disk.now = time
        try disk.commit(disk.process([[.set(WriteTarget(path: path), IncomingValue(json: value))]]))
    }

    private func room(_ number: Int) -> Path {
        Path(encoded: ("rooms" as Path).encoded + Path([Key(Int32(number))]).encoded)
    }

    private func erase(_ path: Path) throws -> Erasure {
        try Erasure(path, of: "a", in: try DataFolder(path: folder.path, durability: .process))
    }

    /// Names of the files that have the marker.
    private var filesWithMarker: [String] {
        TemporaryFolder.files(in: folder.path).filter { name in
            TemporaryFolder.contents(of: "\(folder.path)/\(name)").firstRange(of: Array(marker.utf8)) != nil
        }
    }

    /// Leaves the marker in the unused space of a file, as splits of pages do.
    private func leaveMarker(in file: String) throws {
        let connection = try Connection(path: "\(folder.path)/\(file)", mode: .readWrite)
        for statement in [
            "PRAGMA secure_delete = off", "CREATE TABLE remains (text TEXT)",
            "INSERT INTO remains VALUES ('\(marker)')", "DROP TABLE remains", "PRAGMA wal_checkpoint(TRUNCATE)",
        ] { try connection.execute(statement) }
    }

    @Test("takes copies out of unused space of the history's pages", arguments: 0..<4 as Range<UInt64>)
    func splitPages(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        do {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
            let file = try makeFile()
            let kept = definitions("rooms/$")
            _ = try file.advance(kept, now: 1)
            for number in 1...2000 {
                let place = Int.random(in: 0..<50, using: &random)
                let text = String(repeating: "x", count: Int.random(in: 0..<300, using: &random))
                try set(
                    disk, room(place), CanonicalJSON(string: Array(((place == 7 ? marker : "other") + text).utf8)),
                    at: 1)
                if number.isMultiple(of: 20) {
                    _ = try file.advance(kept, now: 1)
                    try disk.apply()
                }
            }
            try set(disk, "rooms/7", .null, at: 2)
            _ = try file.advance(kept, now: 2)
            try disk.apply()
        }
        #expect(try !erase("rooms/7").isStillThere)
        #expect(filesWithMarker == [], "seed \(seed)")
    }

    @Test("writes the history anew also if none is kept of the place now")
    func endedHistories() throws {
        do {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
            try set(disk, "rooms/a", "1", at: 1)
            _ = try makeFile().advance(definitions("elsewhere"), now: 1)
            try disk.apply()
        }
        for file in ["a.history", "a.past"] { try leaveMarker(in: file) }
        #expect(filesWithMarker == ["a.history", "a.past"])
        _ = try erase("rooms/a")
        #expect(filesWithMarker == [])
    }

    @Test("takes the past of a history away whose end was interrupted by a crash", arguments: [1, 200])
    func interruptedEnd(count: Int) throws {
        do {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
            let file = try makeFile()
            let forever = definitions("kept")
            let short = ["rooms/$"].compactMap(IndexPattern.init(text:)).map { HistoryDefinition(pattern: $0, keep: 5) }
            _ = try file.advance(forever + short, now: 1)
            for number in 0..<count {
                try set(disk, room(number), CanonicalJSON(string: Array("\(marker)-\(number)".utf8)), at: 2)
            }
            try set(disk, "rooms", .null, at: 3)
            try set(disk, "kept", "\"FRIEND\"", at: 4)
            // Folded up to the values, and not beyond.
            while try file.advance(forever + short, now: 8) {}
            // The first of the two steps of an end.
            let place = try #require(file.places.first { $0.kept.pattern.text == "rooms/$" })
            try file.connection.execute(
                "DELETE FROM change WHERE place = \(place.id); DELETE FROM place WHERE id = \(place.id)")
            try disk.apply()
        }
        #expect(filesWithMarker.contains("a.past"))
        _ = try erase("rooms")
        #expect(filesWithMarker == [])
        let file = try makeFile()
        #expect(try file.value(at: "kept", after: file.sequence) == "\"FRIEND\"")
    }

    @Test("fails while somebody reads the history, and is run again", arguments: ["a.history", "a.past"])
    func readers(file: String) throws {
        do {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
            let history = try makeFile()
            _ = try history.advance(definitions("rooms/$"), now: 1)
            try set(disk, "rooms/a", "1", at: 1)
            _ = try history.advance(definitions("rooms/$"), now: 1)
            try disk.apply()
        }
        try leaveMarker(in: file)
        do {
            let reader = try Connection(path: "\(folder.path)/\(file)", mode: .readOnly)
            try reader.execute("BEGIN")
            _ = try reader.integer("SELECT count(*) FROM meta")
            let data = try DataFolder(path: folder.path, durability: .process)
            #expect(throws: StorageError.self) { try Erasure("rooms/a", of: "a", in: data, patience: 0) }
        }
        _ = try erase("rooms/a")
        #expect(filesWithMarker == [])
    }

    /// A database in the folder.
    private func makeDatabase() throws {
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        try set(disk, "rooms/a", "1", at: 1)
        try disk.apply()
    }

    private func write(_ files: [String]) {
        for file in files { TemporaryFolder.write(Array(marker.utf8), to: "\(folder.path)/\(file)") }
    }

    @Test("names all other copies in the folder, and removes those that were to replace the files")
    func copies() throws {
        try makeDatabase()
        let copies = [
            "a.12.restored", "a.12.restored.part", "a.log.20261121T214500Z", "a.past", "a.received", "a.received.part",
            "a.sent", "a.sent.part", "a.sent.part-journal", "a.tree.20261121T214500Z-wal",
        ]
        let removed = ["a.new.history", "a.new.log", "a.new.log-wal", "a.new.past", "a.new.tree", "a.new.tree-journal"]
        write(copies + removed)
        // These have no values, or are of other databases.
        let others = [
            "a.etcd", "a.publication", "a.rules", "a.rules.new", "a.settings", "a.visiting", "a.visiting.part",
            "a-b.new.tree", "ab.sent",
        ]
        write(others)
        let folder = folder.path
        #expect(try erase("rooms/a").copies == copies.map { "\(folder)/\($0)" })
        #expect(filesWithMarker == (copies + others).sorted())
    }

    @Test(
        "has an archive start over with a copy without it, and no commit is missing in that",
        arguments: [0, 2], [0, 2])
    func archive(between: Int, since: Int) throws {
        let archive = TemporaryFolder()
        let chains = ArchiveFolder(archive.path, database: "a")
        func keeper(at time: Int64) -> DatabaseArchive {
            DatabaseArchive(of: "a", in: folder.path, to: archive.path, settings: .init(), clock: { time }) { time }
        }
        do {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
            try set(disk, "users/ann", CanonicalJSON(string: Array(marker.utf8)), at: 1)
            var archive = keeper(at: 10)
            #expect(try archive.advance().madeBase)
            try set(disk, "users/ann", .null, at: 11)
            for number in 0..<between { try set(disk, "other", .init(integer: Int64(number)), at: 12) }
            try disk.apply()
            #expect(try !archive.advance().madeBase)
        }
        _ = try erase("users/ann")
        if since > 0 {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
            for number in 0..<since { try set(disk, "other", .init(integer: Int64(number)), at: 20) }
            try disk.apply()
        }
        let progress = try keeper(at: 30).advanced()
        #expect(progress.madeBase)
        #expect(!progress.hasGap)
        #expect(chains.chains.map(\.time) == [10, 30])
        let copy = TemporaryFolder()
        _ = try ArchiveFolder.restore(archive.path, database: "a", at: nil, as: nil, in: copy.path) { _ in }
        for path in [copy.path, try #require(chains.chains.last).path] {
            for file in TemporaryFolder.files(in: path) {
                let bytes = TemporaryFolder.contents(of: "\(path)/\(file)")
                #expect(bytes.firstRange(of: Array(marker.utf8)) == nil, "\(path)/\(file)")
            }
        }
        let windows = try ArchiveFolder.check(archive.path, database: "a")
        #expect(windows.map(\.sequence) == [UInt64(2 + between + since)])
        #expect(try ArchiveFolder.missing(in: archive.path, database: "a", at: 25) == nil)
        // Once, and not again after a restore of what it has since.
        #expect(try !keeper(at: 31).advanced().madeBase)
        _ = try ArchiveFolder.restore(archive.path, database: "a", at: nil, as: nil, in: folder.path) { _ in }
        #expect(try !keeper(at: 32).advanced().madeBase)
    }

    @Test("leaves the new files alone while a restore has not come to its end")
    func interruptedRestore() throws {
        try makeDatabase()
        write(["a.new.tree", "a.restoring"])
        #expect(throws: StorageError.interruptedRestore(database: "a")) { try erase("rooms/a") }
        #expect(filesWithMarker == ["a.new.tree", "a.restoring"])
    }
}

extension DatabaseArchive {
    /// The outcome of the first step of a process.
    fileprivate func advanced() throws(BackupError) -> Progress {
        var archive = self
        return try archive.advance()
    }
}
