import Glibc
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthTreeStorage

@Suite("A copy of a database for another node") struct NodeCopyTests {
    private static let epoch: UInt64 = 77

    /// Opens the database `a` of a folder as a node does, and reads its number. `write` more operations come first.
    private static func open(_ folder: String, writing count: Int = 0) throws -> (value: String, log: LogFile) {
        let data = try DataFolder(path: folder, durability: .full)
        let (log, tree) = try data.open("a", newEpoch: 5, isShared: true)
        if log.lastSequence == 0 { log.begin(epoch: epoch) }
        let database = Database(index: 0, store: try tree.makeReader(), sequence: tree.sequence)
        try log.forEachRecord(after: tree.sequence) { (record) throws(StorageError) in
            try database.replay(record.operations())
        }
        for _ in 0..<count {
            let value = IncomingValue(json: CanonicalJSON(integer: Int64(log.lastSequence + 1)))
            let request = Request(
                connection: ConnectionID(loop: 0, kind: .http, serial: 1), number: 0,
                operation: .set(WriteTarget(path: .root), value))
            try log.append([try #require(database.process([request], now: 1))])
        }
        return (String(decoding: try database.rows.read(.root).bytes, as: UTF8.self), log)
    }

    private let source = TemporaryFolder()
    private let target = TemporaryFolder()
    private var copy: String { source.path + "/copy" }

    private func makeCopy(writing count: Int) throws {
        _ = try Self.open(source.path, writing: count)
        _ = try Backup.make(of: "a", in: source.path, to: copy, .history)
    }

    private func replaceFiles(
        epoch: UInt64 = epoch, atLeast sequence: UInt64 = 0, keepsOld: Bool = false, willExchange: () -> Void = {}
    ) throws {
        let data = try DataFolder(path: target.path, durability: .full)
        _ = try data.install(
            copy, as: "a", epoch: epoch, atLeast: sequence, keepsOld: keepsOld, willExchange: willExchange)
    }

    @Test("brings the history that the settings keep, in the place of the one that is there")
    func history() throws {
        let kept = [HistoryDefinition(pattern: try #require(IndexPattern(text: "")), keep: nil)]
        func history(_ folder: TemporaryFolder) throws -> HistoryFile {
            let history = try HistoryFile("a", in: folder.path, durability: .full)
            try history.follow(kept)
            return history
        }
        _ = try Self.open(target.path, writing: 1)
        _ = try history(target)
        _ = try Self.open(source.path, writing: 2)
        let start = try history(source).places.map(\.start)
        try makeCopy(writing: 3)
        try replaceFiles(atLeast: 5)
        let copied = try history(target)
        #expect(copied.places.map(\.start) == start)
        #expect(copied.sequence == 5)
        for number in 1...5 as ClosedRange<UInt64> {
            #expect(try copied.value(at: .root, after: number) == CanonicalJSON(integer: Int64(number)))
        }
    }

    @Test("keeps the history from being opened until all files are in their places")
    func unfinishedExchange() throws {
        _ = try Self.open(target.path, writing: 1)
        TemporaryFolder.write([], to: "\(target.path)/a.installing")
        #expect(throws: HistoryFile.isReplaced) {
            _ = try HistoryFile("a", in: target.path, durability: .full)
        }
        #expect(!HistoryFile.exists(of: "a", in: target.path))
        _ = try Self.open(target.path)
        _ = try HistoryFile("a", in: target.path, durability: .full)
    }

    @Test("takes the place of older files, with all commits and their epoch")
    func install() throws {
        _ = try Self.open(target.path, writing: 2)
        try makeCopy(writing: 5)
        try replaceFiles(atLeast: 5)
        let (value, log) = try Self.open(target.path)
        #expect(value == "5")
        #expect(log.epochs == Epochs(current: .init(name: Self.epoch, start: 0)))
        var sequences: [UInt64] = []
        try log.forEachRecord(after: 0) { (record) throws(StorageError) in sequences.append(record.firstSequence) }
        #expect(sequences == [1, 2, 3, 4, 5])
        // Nothing is left of the exchange, and the log continues.
        let files = TemporaryFolder.files(in: target.path).filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
        #expect(files == ["a.log", "a.tree", "lock"])
        let end = try DataFolder(path: target.path, durability: .full).logEnd(of: "a")
        #expect(end?.epoch == Self.epoch)
        #expect(end?.sequence == 5)
        #expect(try Self.open(target.path, writing: 1).value == "6")
    }

    @Test(
        "is in its place after a crash at any point of the exchange, and the old files are there before it",
        arguments: 0...3)
    func crash(renamed: Int) throws {
        _ = try Self.open(target.path, writing: 2)
        try makeCopy(writing: 5)
        let crashed = TemporaryFolder()
        try replaceFiles {
            for file in TemporaryFolder.files(in: target.path) where file != "lock" {
                TemporaryFolder.write(
                    TemporaryFolder.contents(of: "\(target.path)/\(file)"), to: "\(crashed.path)/\(file)")
            }
        }
        // The names that had changed by the time of the crash; 3 stands for a crash before there was a marker.
        for file in ["a.tree", "a.log"].prefix(renamed % 3) {
            for suffix in ["-wal", "-shm"] { unlink("\(crashed.path)/\(file)\(suffix)") }
            let new = file.replacing("a.", with: "a.new.")
            #expect(rename("\(crashed.path)/\(new)", "\(crashed.path)/\(file)") == 0)
        }
        if renamed == 3 { #expect(unlink("\(crashed.path)/a.installing") == 0) }
        #expect(try Self.open(crashed.path).value == (renamed == 3 ? "2" : "5"))
    }

    @Test("leaves the old files beside the new ones if it has not all that they have", arguments: [false, true])
    func keeping(crashes: Bool) throws {
        _ = try Self.open(target.path, writing: 3)
        try makeCopy(writing: 2)
        let crashed = TemporaryFolder()
        try replaceFiles(keepsOld: true) {
            guard crashes else { return }
            for file in TemporaryFolder.files(in: target.path) where file != "lock" {
                TemporaryFolder.write(
                    TemporaryFolder.contents(of: "\(target.path)/\(file)"), to: "\(crashed.path)/\(file)")
            }
        }
        let folder = crashes ? crashed.path : target.path
        #expect(try Self.open(folder).value == "2")
        let old = TemporaryFolder.files(in: folder).filter { $0.contains(/^a\.(log|tree)\.[0-9TZ]+$/) }.sorted()
        #expect(old.count == 2, "\(TemporaryFolder.files(in: folder))")
        let again = TemporaryFolder()
        for file in TemporaryFolder.files(in: folder) {
            guard let match = file.firstMatch(of: /^(a\.(?:log|tree))\.[0-9TZ]+(-wal)?$/) else { continue }
            TemporaryFolder.write(
                TemporaryFolder.contents(of: "\(folder)/\(file)"), to: "\(again.path)/\(match.1)\(match.2 ?? "")")
        }
        #expect(try Self.open(again.path).value == "3")
    }

    @Test("of a backup waits beside the files, with a history of its own; older ones go once it is in their place")
    func restored() throws {
        _ = try Self.open(source.path, writing: 4)
        let backup = source.path + "/backup"
        _ = try Backup.make(of: "a", in: source.path, to: backup)
        _ = try Self.open(target.path, writing: 6)
        _ = try RestoredCopy(of: backup, of: "a", in: target.path, epoch: 5)
        let restored = try RestoredCopy(of: backup, of: "a", in: target.path, epoch: 9)
        #expect(restored.path == "\(target.path)/a.9.restored")
        let later = try RestoredCopy(of: backup, of: "a", in: target.path, epoch: 3)
        let data = try DataFolder(path: target.path, durability: .full)
        #expect(data.databases == ["a"])
        let end = try DataFolder.logEnd(ofCopy: restored.path)
        #expect(end?.epoch == 9)
        #expect(end?.sequence == 4)
        #expect(throws: BackupError(message: "\(backup): it is of the database 'a', not of 'b'")) {
            try RestoredCopy(of: backup, of: "b", in: target.path, epoch: 9)
        }
        _ = try data.install(restored.path, as: "a", epoch: 9, atLeast: 4, keepsOld: true) {}
        func waiting() -> [String] { TemporaryFolder.files(in: target.path).filter { $0.hasSuffix(".restored") } }
        #expect(waiting().sorted() == ["a.3.restored", "a.5.restored", "a.9.restored"])
        // That of another restore may not be waited for yet.
        data.removeRestoredCopies(of: "a", epoch: 9)
        #expect(waiting() == ["a.3.restored"])
        data.removeRestoredCopies(of: "a", epoch: 8)
        #expect(waiting() == ["a.3.restored"])
        later.discard()
        #expect(waiting().isEmpty)
        let (log, tree) = try data.open("a", newEpoch: 5, isShared: true)
        #expect(log.epochs == Epochs(current: .init(name: 9, start: 4)))
        #expect(log.isOfCluster)
        #expect(tree.sequence <= 4)
    }

    @Test("is not made of a backup of nothing, nor in a folder that is not there")
    func nothingToRestore() throws {
        _ = try Self.open(source.path)
        let backup = source.path + "/backup"
        _ = try Backup.make(of: "a", in: source.path, to: backup)
        #expect(throws: BackupError(message: "\(backup): nothing was ever written to it")) {
            try RestoredCopy(of: backup, of: "a", in: target.path, epoch: 9)
        }
        unlink(backup)
        _ = try Self.open(source.path, writing: 1)
        _ = try Backup.make(of: "a", in: source.path, to: backup)
        #expect(throws: BackupError(message: "there is no data folder /nowhere/at/all")) {
            try RestoredCopy(of: backup, of: "a", in: "/nowhere/at/all", epoch: 9)
        }
    }

    @Test("is refused if it is of another history or does not reach far enough, and the old files stay")
    func refusal() throws {
        _ = try Self.open(target.path, writing: 2)
        try makeCopy(writing: 5)
        #expect(throws: BackupError(message: "the database file is damaged: the copy is of another history")) {
            try replaceFiles(epoch: 78)
        }
        #expect(throws: BackupError(message: "the database file is damaged: the copy ends at 5, before 6")) {
            try replaceFiles(atLeast: 6)
        }
        var damaged = TemporaryFolder.contents(of: copy)
        damaged.removeLast(4096)
        TemporaryFolder.write(damaged, to: copy)
        #expect(throws: BackupError(message: "\(copy): the database file is damaged: it is cut short")) {
            try replaceFiles()
        }
        #expect(try Self.open(target.path).value == "2")
    }
}
