import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthSQLite
import HearthSystem
import HearthTestSupport
import Testing

@testable import HearthTreeStorage
import HearthStorageErrors

@Suite("the history of a database")
struct HistoryFileTests {
    private let folder = TemporaryFolder()

    private func set(_ disk: DatabaseOnDisk, _ path: Path, _ value: CanonicalJSON, at time: Int64) throws {
        disk.now = time
        try disk.commit(disk.process([[.set(WriteTarget(path: path), IncomingValue(json: value))]]))
    }

    private func definitions(_ pattern: String, keep: Int64? = nil) -> [HistoryDefinition] {
        IndexPattern(text: pattern).map { [HistoryDefinition(pattern: $0, keep: keep)] } ?? []
    }

    private func makeFile() throws -> HistoryFile { try HistoryFile("a", in: folder.path, durability: .process) }

    @Test("tells what was there at a time, and who changed it when")
    func reading() throws {
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        let file = try makeFile()
        let kept = definitions("rooms")
        try set(disk, "rooms/a", #"{"title":"Kitchen"}"#, at: 100)
        _ = try file.advance(kept, now: 100)
        try set(disk, "rooms/a/title", "\"Bath\"", at: 200)
        try set(disk, "other", "1", at: 250)
        try set(disk, "rooms/a/title", "null", at: 300)
        _ = try file.advance(kept, now: 300)
        func value(_ moment: HistoryFile.Moment, _ path: Path = "rooms/a/title") throws -> CanonicalJSON {
            try file.value(at: path, after: try file.sequence(at: moment, of: path))
        }
        #expect(try value(.time(199)) == "\"Kitchen\"")
        #expect(try value(.time(200)) == "\"Bath\"")
        #expect(try value(.time(299)) == "\"Bath\"")
        #expect(try value(.time(300)) == "null")
        #expect(try value(.time(9999)) == "null")
        #expect(try value(.sequence(2), .root) == #"{"rooms":{"a":{"title":"Bath"}}}"#)
        #expect(throws: HistoryError.notKept) { try value(.time(200), "other") }
        let commits = try file.commits(at: "rooms/a", before: nil, limit: 10).commits
        #expect(commits.map(\.sequence) == [4, 2, 1])
        #expect(commits.map(\.time) == [300, 200, 100])
        let page = try file.commits(at: "rooms/a", before: 4, limit: 1)
        #expect(page.commits.map(\.sequence) == [2])
        #expect(page.next == 2)
        #expect(try file.commits(at: "rooms/b", before: nil, limit: 10).commits.isEmpty)
    }

    @Test("lists a commit for each place that it changes, however many it changes before")
    func largeCommit() throws {
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        let file = try makeFile()
        let kept = definitions("rooms")
        try set(disk, "rooms/a", "1", at: 100)
        _ = try file.advance(kept, now: 100)
        disk.now = 200
        let rooms: Path = "rooms"
        let entries = (0..<1500).map { number in
            (
                target: WriteTarget(path: Path(encoded: rooms.encoded + Path([Key(number)]).encoded)),
                value: IncomingValue(json: "2")
            )
        }
        try disk.commit(disk.process([[.update(base: rooms, entries)]]))
        _ = try file.advance(kept, now: 200)
        for path in ["rooms/0", "rooms/1200", "rooms/1499/deeper"] as [Path] {
            let commits = try file.commits(at: path, before: nil, limit: 10).commits
            #expect(commits.map(\.sequence) == [2], "\(path)")
            #expect(commits.first?.assignments.count == 1, "\(path)")
        }
        #expect(try file.commits(at: "rooms", before: nil, limit: 10).commits.map(\.assignments.count) == [1000, 1])
        // Each costs a look at its own changes.
        let plan = try file.connection.prepare("EXPLAIN QUERY PLAN " + HistoryFile.queryOfCommit("?5, ?6"))
        #expect(try plan.step())
        #expect(plan.text(3) == "SEARCH change USING INDEX change_sequence (place=? AND sequence=?)")
    }

    @Test("keeps what the setting says, and no more")
    func retention() throws {
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        let file = try makeFile()
        for number in 1...20 {
            try set(disk, "a/n", CanonicalJSON(integer: Int64(number)), at: Int64(number) * 10)
            while try file.advance(definitions("a", keep: 50), now: Int64(number) * 10) {}
        }
        #expect(throws: HistoryError.tooOld(sequence: 14, time: 140)) { try file.sequence(at: .time(139), of: "a") }
        for number in 14...20 {
            let sequence = try file.sequence(at: .time(Int64(number) * 10), of: "a/n")
            #expect(try file.value(at: "a/n", after: sequence) == CanonicalJSON(integer: Int64(number)))
        }
        #expect(try file.connection.integer("SELECT count(*) FROM change") == 6)
        // Without the setting, nothing stays.
        _ = try file.advance([], now: 200)
        #expect(try file.connection.integer("SELECT count(*) FROM change") == 0)
        #expect(try DatabaseOnDisk.storedValue(file.past.makeReader()) == .null)
    }

    @Test("does not wait for a reader of its files, and overwrites what it has removed once that one has left")
    func tidying() throws {
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        let file = try makeFile()
        let kept = definitions("a", keep: 50)
        for number in 1...20 { try set(disk, "a/n", CanonicalJSON(integer: Int64(number)), at: Int64(number) * 10) }
        _ = try file.advance(kept, now: 100)
        let paths = HistoryFile.paths(of: "a", in: folder.path)
        func writeAheadBytes() -> [Int] { paths.map { (FileBytes.read($0 + "-wal") ?? []).count } }
        do {
            let readers = try paths.map { (path) throws(StorageError) in try Connection(path: path, mode: .readOnly) }
            for reader in readers {
                try reader.execute("BEGIN")
                _ = try reader.integer("SELECT count(*) FROM meta")
            }
            let start = ContinuousClock.now
            try set(disk, "a/n", "21", at: 210)
            while try file.advance(kept, now: 210) {}
            // SQLite would wait for ten seconds.
            #expect(ContinuousClock.now - start < .seconds(9))
            #expect(try file.connection.integer("SELECT count(*) FROM change") == 6)
            #expect(!writeAheadBytes().contains(0))
        }
        _ = try file.advance(kept, now: 210)
        #expect(writeAheadBytes() == [0, 0])
    }

    @Test("begins with the whole of a value whose rows are being written", arguments: [false, true])
    func beginningAmidLargeValue(isOfChildren: Bool) throws {
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        func large(_ text: String) -> CanonicalJSON {
            let leaf = CanonicalJSON(string: Array(repeating: text.utf8.first ?? 0, count: 20))
            return (0..<30).reduce(.null) { $0.setting(leaf, at: Path([Key($1)])) }
        }
        try set(disk, "rooms/a", large("x"), at: 10)
        try disk.commit(
            disk.process([[.set(WriteTarget(path: "rooms", isPriority: true), IncomingValue(json: "5"))]]))
        try disk.apply()
        if isOfChildren {
            let entry = (target: WriteTarget(path: "rooms/a"), value: IncomingValue(json: large("y")))
            let update = Operation.update(base: "rooms", [entry])
            try disk.commit(disk.process([[try #require(update.asText(childrenOf: "rooms"))]]))
        } else {
            try set(disk, "rooms/a", large("y"), at: 20)
        }
        try disk.applySome()
        try disk.applySome()
        let file = try makeFile()
        _ = try file.advance(definitions("rooms"), now: 20)
        #expect(file.places.map(\.edge) == [3])
        let expected = CanonicalJSON.null.setting(large("y"), at: "a").settingPriority("5", at: .root)
        #expect(try file.value(at: "rooms", after: 3) == expected)
        #expect(try file.value(at: "rooms/a", after: 3) == large("y"))
    }

    @Test("keeps what other settings ask for apart, when writes above all of them are read or folded")
    func severalSettings() throws {
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        let file = try makeFile()
        let kept = definitions("a", keep: 50) + definitions("b/$")
        try set(disk, .root, #"{"a":1,"b":{"x":1,"y":1},"c":1}"#, at: 10)
        while try file.advance(kept, now: 10) {}
        try set(disk, .root, #"{"a":2,"b":{"x":2}}"#, at: 20)
        try set(disk, "a", "3", at: 90)
        while try file.advance(kept, now: 100) {}
        // The first two writes are folded for /a alone.
        #expect(file.places.map(\.edge) == [2, 0])
        #expect(try file.value(at: .root, after: 2) == #"{"a":2,"b":{"x":2}}"#)
        #expect(try file.value(at: .root, after: 3) == #"{"a":3,"b":{"x":2}}"#)
        #expect(try file.value(at: "b", after: 1) == #"{"x":1,"y":1}"#)
        while try file.advance(definitions("a", keep: 50) + definitions("b/$", keep: 30), now: 100) {}
        #expect(file.places.map(\.edge) == [2, 2])
        #expect(try file.value(at: .root, after: 2) == #"{"a":2,"b":{"x":2}}"#)
        #expect(try file.value(at: .root, after: 3) == #"{"a":3,"b":{"x":2}}"#)
    }

    @Test("starts over where the log is another one")
    func anotherLog() throws {
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        try set(disk, "a", "1", at: 10)
        let file = try makeFile()
        _ = try file.advance(definitions("a"), now: 10)
        try set(disk, "a", "2", at: 20)
        try disk.apply()
        // As after a restore: other records with the same numbers.
        let log = try Connection(path: folder.path + "/a.log", mode: .readWrite)
        try log.execute("UPDATE log SET chain = NULL, checksum = checksum + 1 WHERE first = 1")
        #expect(throws: Never.self) { try log.execute("DELETE FROM log WHERE first = 1") }
        _ = try file.advance(definitions("a"), now: 20)
        #expect(file.places.map(\.start) == [2])
        #expect(try file.value(at: "a", after: 2) == "2")
    }

    /// All bytes of the files in the folder.
    private func contains(_ marker: String) -> Bool {
        FolderContents(folder.path).files.contains { name in
            let bytes = FileBytes.read("\(folder.path)/\(name)") ?? []
            return bytes.withUnsafeBytes { text in
                let wanted = Array(marker.utf8)
                var index = 0
                while index + wanted.count <= text.count {
                    if text[index] == wanted[0], text[index..<index + wanted.count].elementsEqual(wanted) {
                        return true
                    }
                    index += 1
                }
                return false
            }
        }
    }

    @Test("is folded in parts of some bytes, each of them whole operations")
    func foldingLargeChanges() throws {
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        let file = try makeFile()
        _ = try file.advance(definitions("a"), now: 10)
        func text(_ number: Int) -> CanonicalJSON {
            CanonicalJSON(string: Array("\(number)".utf8) + Array(repeating: UInt8(ascii: "x"), count: 3 << 20))
        }
        for number in 1...12 { try set(disk, "a/n", text(number), at: Int64(number) * 10) }
        var edges: [UInt64] = []
        while try file.advance(definitions("a", keep: 1), now: 1000) { edges.append(file.places[0].edge) }
        #expect(edges == [5, 10])
        #expect(file.places[0].edge == 12)
        #expect(try file.value(at: "a/n", after: 12) == text(12))
    }

    @Test("writes nothing while nothing is new")
    func idle() throws {
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        let file = try makeFile()
        try set(disk, "a", "1", at: 10)
        _ = try file.advance(definitions("a", keep: 1000), now: 10)
        let observer = try Connection(path: HistoryFile.paths(of: "a", in: folder.path)[0], mode: .readOnly)
        let before = try observer.integer("PRAGMA data_version")
        _ = try file.advance(definitions("a", keep: 1000), now: 20)
        #expect(try observer.integer("PRAGMA data_version") == before)
        try set(disk, "a", "2", at: 30)
        _ = try file.advance(definitions("a", keep: 1000), now: 30)
        #expect(try observer.integer("PRAGMA data_version") != before)
    }

    @Test("is erased with the times of children that have gone with what was above them, and with dropped indexes")
    func erasingEntries() throws {
        let settings = #"{"settings":{"mail":{".expires":"until"},"kept":{".expires":"until"}}}"#
        let index = IndexDefinition(pattern: try #require(IndexPattern(text: "mail")), index: .child("name"))
        do {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
            try set(disk, "kept/FRIEND-MARKER", #"{"until":9000}"#, at: 10)
            try set(disk, "mail", #"{"SECRET-MARKER":{"name":"HIDDEN-MARKER","until":9000}}"#, at: 10)
            let parsed = try DatabaseSettings(parsing: Array(settings.utf8))
            disk.database.setIndexes([index], parsed)
            while disk.database.isBuildingIndex { try disk.database.buildIndex() }
            try disk.apply()
            disk.database.setIndexes([], parsed)
            try set(disk, "mail", "null", at: 20)
            try disk.apply()
        }
        #expect(contains("SECRET-MARKER"))
        #expect(contains("HIDDEN-MARKER"))
        _ = try Erasure("mail", of: "a", in: try DataFolder(path: folder.path, durability: .process))
        #expect(!contains("SECRET-MARKER"))
        #expect(!contains("HIDDEN-MARKER"))
        #expect(contains("FRIEND-MARKER"))
        #expect(DatabaseCheck("a", in: folder.path, isServed: false).problems == [])
        let tree = try Connection(path: folder.path + "/a.tree", mode: .readOnly)
        #expect(try tree.integer("SELECT count(*) FROM index_entry") == 1)
    }

    @Test("stays where nothing is erased, also if the log's last record changes, as that of a restored database does")
    func erasingRestored() throws {
        let target = try restored()
        _ = try Erasure("pages/b", of: "a", in: try DataFolder(path: target.path, durability: .process))
        try expectHistory(in: target)
    }

    @Test("stays where nothing is erased, also if an erasure fails because of a reader, and is run again")
    func erasingAgain() throws {
        let target = try restored()
        do {
            let reader = try Connection(path: target.path + "/a.log", mode: .readOnly)
            let select = try reader.prepare("SELECT first FROM log")
            #expect(try select.step())
            let data = try DataFolder(path: target.path, durability: .process)
            #expect(throws: StorageError.self) { try Erasure("pages/b", of: "a", in: data, patience: 0) }
        }
        let again = try Erasure("pages/b", of: "a", in: try DataFolder(path: target.path, durability: .process))
        #expect(again.records == 0)
        try expectHistory(in: target)
    }

    @Test("stays where nothing is erased, also if the process ends before the history knows the changed log")
    func erasingInterrupted() throws {
        let target = try restored()
        do {
            let (log, _) = try DataFolder(path: target.path, durability: .process).open("a", newEpoch: 1)
            let file = try HistoryFile("a", in: target.path, durability: .process)
            try file.expectErasure(in: Connection(path: target.path + "/a.log", mode: .readOnly))
            #expect(try log.erase("pages/b") == 1)
            let again = try HistoryFile("a", in: target.path, durability: .process)
            #expect(!again.places.isEmpty)
        }
        // A backup takes the history along, too.
        let next = TemporaryFolder()
        let copy = try Backup.make(of: "a", in: target.path, to: next.path + "/copy")
        #expect(copy.changes != nil)
        _ = try Erasure("pages/b", of: "a", in: try DataFolder(path: target.path, durability: .process))
        try expectHistory(in: target)
        let meta = try Connection(path: HistoryFile.paths(of: "a", in: target.path)[0], mode: .readOnly)
        #expect(try meta.integer("SELECT count(*) FROM meta WHERE name = 'erasing'") == 0)
    }

    /// A database whose log was restored with a history, and has not been written since.
    private func restored() throws -> TemporaryFolder {
        let (copy, target) = (folder.path + "/copy", TemporaryFolder())
        do {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
            let file = try makeFile()
            for (time, path, value) in [(10, "pages/a", "1"), (20, "pages/a", "2"), (30, "pages/b", "3")]
                as [(Int64, Path, CanonicalJSON)]
            {
                try set(disk, path, value, at: time)
                _ = try file.advance(definitions("pages/$"), now: time)
            }
            try disk.apply()
            _ = try Backup.make(of: "a", in: folder.path, to: copy)
        }
        _ = try Backup.restore(copy, as: "a", in: target.path) { _ in }
        return target
    }

    private func expectHistory(in folder: TemporaryFolder) throws {
        let file = try HistoryFile("a", in: folder.path, durability: .process)
        _ = try file.advance(definitions("pages/$"), now: 40)
        #expect(try file.sequence(at: .time(10), of: "pages/a") == 1)
        #expect(try file.value(at: "pages/a", after: 1) == "1")
    }

    @Test(
        "starts over with the present value where something was erased, and is told above without it before",
        arguments: [nil, 20 as Int64])
    func beginningAnew(keep: Int64?) throws {
        let kept = definitions("pages/$", keep: keep)
        do {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
            let file = try makeFile()
            try set(disk, "pages/sec", #"{"t":"SECRET"}"#, at: 10)
            _ = try file.advance(kept, now: 10)
            try set(disk, "pages/sec", #"{".priority":7,"t":{".priority":5,"now":{"x":1,"y":2}}}"#, at: 20)
            try set(disk, "pages/other", "1", at: 30)
            try set(disk, "pages/sec/t/now/z", "3", at: 40)
            try set(disk, "elsewhere", "1", at: 50)
            while try file.advance(kept, now: 60) {}
            try disk.apply()
        }
        let erasure = try Erasure(
            "pages/sec/t/now", of: "a", in: try DataFolder(path: folder.path, durability: .process))
        #expect(erasure.isStillThere)
        #expect(erasure.changes > 0)
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        let file = try makeFile()
        try set(disk, "pages/sec/t/now/x", "9", at: 70)
        _ = try file.advance(definitions("pages/$"), now: 70)
        // The value before the erasing is unknown, which is not the same as null.
        for path in ["pages/sec/t/now", "pages/sec/t/now/x", "pages/sec/t/now/none"] as [Path] {
            #expect(throws: HistoryError.tooOld(sequence: 5, time: 50)) {
                try file.sequence(at: .sequence(4), of: path)
            }
            #expect(throws: HistoryError.tooOld(sequence: 5, time: 50)) { try file.sequence(at: .time(49), of: path) }
            #expect(try file.sequence(at: .time(50), of: path) == 5)
        }
        let page: CanonicalJSON = #"{".priority":7,"t":{".priority":5,"now":{"x":1,"y":2,"z":3}}}"#
        #expect(try file.value(at: "pages/sec", after: 5) == page)
        #expect(try file.value(at: "pages/sec/t/now", after: 5) == #"{"x":1,"y":2,"z":3}"#)
        #expect(try file.value(at: "pages/sec/t/now/x", after: 5) == "1")
        #expect(try file.value(at: "pages/sec/t/now", after: 6) == #"{"x":9,"y":2,"z":3}"#)
        #expect(
            try file.value(at: "pages", after: 5)
                == CanonicalJSON.null.setting(page, at: "sec").setting("1", at: "other"))
        // Places above are told without it, and are not set to that.
        #expect(try file.value(at: "pages", after: 4) == #"{"other":1}"#)
        #expect(try file.erasures(at: "pages", after: 4) == ["pages/sec/t/now"])
        #expect(try file.erasures(at: "pages", after: 5) == [])
        #expect(try file.erasures(at: "pages/other", after: 4) == [])
        #expect(throws: HistoryError.tooOld(sequence: 5, time: 50)) {
            try file.checkRestoring("pages/sec", after: 4)
        }
        #expect(throws: Never.self) {
            try file.checkRestoring("pages/sec", after: 5)
            try file.checkRestoring("pages/other", after: 4)
        }
        #expect(
            try file.commits(at: "pages/sec/t/now", before: nil, limit: 9).commits.map(\.sequence).first == 6)
        // Unreachable history is dropped.
        try set(disk, "pages/other", "2", at: 80)
        while try file.advance(definitions("pages/$", keep: 5), now: 1000) {}
        #expect(try file.connection.integer("SELECT count(*) FROM erased") == 0)
        #expect(try file.value(at: "pages/sec/t/now", after: 7) == #"{"x":9,"y":2,"z":3}"#)
        #expect(try file.value(at: "pages/sec", after: 7) == page.setting("9", at: "t/now/x"))
    }

    @Test("does not bring back what was there before something that was erased")
    func erasingWhatHasReplaced() throws {
        do {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
            let file = try makeFile()
            _ = try file.advance(definitions("pages"), now: 0)
            try set(disk, "pages/a", "\"a leaf\"", at: 10)
            try set(disk, "pages/a/b", "\"SECRET\"", at: 20)
            try set(disk, "pages/a/b", "null", at: 30)
            _ = try file.advance(definitions("pages"), now: 30)
            try disk.apply()
        }
        // A server that was killed has left it.
        TemporaryFolder.write(Array("SECRET".utf8), to: "\(folder.path)/a.past-copy-1-1")
        _ = try Erasure("pages/a/b", of: "a", in: try DataFolder(path: folder.path, durability: .process))
        #expect(!FolderContents(folder.path).files.contains { $0.contains("past-copy") })
        let file = try makeFile()
        #expect(try file.value(at: "pages/a", after: 1) == "\"a leaf\"")
        #expect(try file.value(at: "pages/a", after: 3) == .null)
        #expect(throws: Never.self) { try file.checkRestoring("pages", after: 1) }
    }

    @Test(
        "is erased, in the log and the tree as well, so that no file has its bytes", arguments: 0..<4 as Range<UInt64>)
    func erasure(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let marker = "SECRET-\(seed)-MARKER"
        let secret = CanonicalJSON(string: Array(marker.utf8))
        var last: UInt64 = 0
        do {
            let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
            let file = try makeFile()
            let kept = definitions("users/$", keep: 100)
            for number in 1...60 {
                let time = Int64(number) * 10
                switch Int.random(in: 0..<6, using: &random) {
                case 0: try set(disk, "users/ann/mail", secret, at: time)
                case 1:
                    try set(
                        disk, "users", CanonicalJSON.null.setting(secret, at: "ann/old/mail").setting("1", at: "bob"),
                        at: time)
                case 2: try set(disk, "users/ann", "null", at: time)
                case 3:
                    try set(
                        disk, "users/ann", CanonicalJSON.null.setting(secret, at: Path([Key(Int32(number))])), at: time)
                case 4:
                    let text = CanonicalJSON(
                        string: Array(repeating: UInt8(ascii: "x"), count: 5000) + Array(marker.utf8))
                    try set(disk, "users/ann/large", text, at: time)
                default: try set(disk, "users/bob", CanonicalJSON(integer: Int64(number)), at: time)
                }
                if number.isMultiple(of: 7) { try disk.apply() }
                if number.isMultiple(of: 5) { while try file.advance(kept, now: time) {} }
            }
            try set(disk, "users/bob", "77", at: 700)
            #expect(contains(marker))
            // The present value goes first.
            try set(disk, "users/ann", "null", at: 710)
            try disk.apply()
            while try file.advance(kept, now: 720) {}
            last = disk.log.lastSequence
        }
        let verified = LogVerification("a", in: folder.path)
        #expect(verified.problems == [])
        #expect(verified.erasedCount == 0)
        let head = try #require(verified.head)
        let erasure = try Erasure("users/ann", of: "a", in: try DataFolder(path: folder.path, durability: .process))
        #expect(erasure.records > 0)
        #expect(!erasure.isStillThere)
        #expect(erasure.copies == [])
        #expect(!contains(marker), "seed \(seed)")
        // The rest is as it was, and the chain still has the head that was noted.
        let after = LogVerification("a", in: folder.path, noted: [head])
        #expect(after.problems == [])
        #expect(after.erasedCount == erasure.records)
        #expect(DatabaseCheck("a", in: folder.path, isServed: false).problems == [])
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .process)
        #expect(try disk.value() == #"{"users":{"bob":77}}"#)
        let file = try makeFile()
        _ = try file.advance(definitions("users/$", keep: 100), now: 720)
        #expect(file.sequence == last)
        let time = try #require(try file.connection.integer("SELECT time FROM moment WHERE sequence = \(last)"))
        #expect(throws: HistoryError.tooOld(sequence: last, time: time)) {
            try file.sequence(at: .sequence(last - 3), of: "users/ann")
        }
        #expect(try file.value(at: "users/ann", after: last) == .null)
        #expect(try file.value(at: "users/bob", after: last) == "77")
    }
}
