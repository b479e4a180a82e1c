import Glibc
import HearthJSONTree
import HearthRealtimeDatabase
import Synchronization
import HearthTestSupport
import Testing
import HearthTreeStorage
import HearthStorageErrors

/// What a restore, a backup and a new folder leave when they do not come to their end.
@Suite("a restore that does not come to its end")
struct RestoreCrashTests {
    private static let old = CanonicalJSON(integer: 1)
    private static let new = CanonicalJSON(integer: 2)

    /// Makes a database with one value, closed in good order.
    private static func fill(_ folder: String, _ value: CanonicalJSON) throws {
        let data = try DataFolder(path: folder, durability: .full)
        let (log, tree) = try data.open("a", newEpoch: 1)
        let database = Database(index: 0, store: try tree.makeReader(), sequence: tree.sequence)
        let request = Request(
            connection: ConnectionID(loop: 0, kind: .http, serial: 1), number: 0,
            operation: .set(WriteTarget(path: .root), IncomingValue(json: value)))
        let record = try #require(database.process([request], now: 1))
        try log.append([record])
    }

    private enum Found: Equatable {
        case value(CanonicalJSON)
        case nothing
        case interrupted
    }

    /// What a server that starts on the folder has.
    private static func found(in folder: String) throws -> Found {
        let data = try DataFolder(path: folder, durability: .full)
        guard data.hasDatabase("a") else { return .nothing }
        #expect(data.databases == ["a"])
        do {
            let (log, tree) = try data.open("a", newEpoch: 9)
            let database = Database(index: 0, store: try tree.makeReader(), sequence: tree.sequence)
            try log.forEachRecord(after: tree.sequence) { (record) throws(StorageError) in
                try database.replay(record.operations())
            }
            return .value(try database.rows.read(.root))
        } catch StorageError.interruptedRestore(database: "a") {
            return .interrupted
        }
    }

    private func makeBackup(of value: CanonicalJSON) throws -> (folder: TemporaryFolder, file: String) {
        let source = TemporaryFolder()
        try Self.fill(source.path, value)
        let file = source.path + "/copy"
        _ = try Backup.make(of: "a", in: source.path, to: file)
        return (source, file)
    }

    private func restore(_ file: String, in folder: String) throws(BackupError) {
        _ = try Backup.restore(file, as: "a", in: folder) { _ in }
    }

    @Test("leaves the old data, the new data, or a database that is not served until it is run again")
    func powerCuts() throws {
        let (source, file) = try makeBackup(of: Self.new)
        let disk = SimulatedDisk()
        let data = disk.path + "/data"
        try Self.fill(data, Self.old)
        let seen = Mutex<[(cut: Int, found: Found)]>([])
        disk.beforeEachChange { [weak disk] number in
            guard let disk else { return }
            for (index, probability) in [1, 0, 0.5, 0.5].enumerated() {
                let image = disk.imageAfterPowerCut(keeping: probability, seed: UInt64(number * 4 + index))
                let result = Result { () -> Found in
                    let found = try Self.found(in: image.path + "/data")
                    if found == .interrupted {
                        _ = try Backup.restore(file, as: "a", in: image.path + "/data") { _ in }
                        #expect(try Self.found(in: image.path + "/data") == .value(Self.new), "cut \(number)")
                    }
                    return found
                }
                if let found = try? result.get() { seen.withLock { $0.append((number, found)) } }
                #expect(throws: Never.self, "cut \(number), \(probability) kept") { try result.get() }
            }
        }
        try restore(file, in: data)
        disk.observe(nil)
        #expect(try Self.found(in: data) == .value(Self.new))
        let found = seen.withLock { $0 }
        for (cut, found) in found where ![.value(Self.old), .value(Self.new), .interrupted].contains(found) {
            Issue.record("cut \(cut): \(found)")
        }
        for expected in [Found.value(Self.old), .value(Self.new), .interrupted] {
            #expect(found.contains { $0.found == expected }, "\(expected) was never seen")
        }
        withExtendedLifetime(source) {}
    }

    @Test("says so when a name cannot be changed, and is done when it is run again", arguments: 0..<4)
    func failingNames(count: Int) throws {
        let (source, file) = try makeBackup(of: Self.new)
        let disk = SimulatedDisk()
        let data = disk.path + "/data"
        try Self.fill(data, Self.old)
        let renames = Mutex(0)
        disk.observe { call, _ in
            guard case .rename = call else { return 0 }
            return renames.withLock { renames in
                defer { renames += 1 }
                return renames == count ? EIO : 0
            }
        }
        let error = #expect(throws: BackupError.self) { try restore(file, in: data) }
        disk.observe(nil)
        #expect(error?.message.hasSuffix("; the restore is not complete: run it again") == true)
        #expect(try Self.found(in: data) == .interrupted)
        #expect(throws: BackupError(.interruptedRestore(database: "a"))) {
            try Backup.make(of: "a", in: data, to: data + "/copy")
        }
        try restore(file, in: data)
        #expect(try Self.found(in: data) == .value(Self.new))
        withExtendedLifetime(source) {}
    }

    @Test("of a folder: what a new one was given is there after a power cut at any time")
    func newFolder() throws {
        let disk = SimulatedDisk()
        let acknowledged = Mutex(false)
        let cuts = Mutex(0)
        disk.beforeEachChange { [weak disk] number in
            guard let disk else { return }
            for (index, probability) in [1, 0, 0.5].enumerated() {
                let image = disk.imageAfterPowerCut(keeping: probability, seed: UInt64(number * 3 + index))
                let mustHave = acknowledged.withLock { $0 }
                #expect(throws: Never.self, "cut \(number)") {
                    let found = try Self.found(in: image.path + "/data")
                    #expect(found == .value(Self.old) || !mustHave, "cut \(number), \(probability) kept")
                }
                cuts.withLock { $0 += 1 }
            }
        }
        let data = disk.path + "/data"
        try Self.fill(data, Self.old)
        acknowledged.withLock { $0 = true }
        let image = disk.imageAfterPowerCut(keeping: 0, seed: 1)
        #expect(try Self.found(in: image.path + "/data") == .value(Self.old))
        #expect(cuts.withLock { $0 } > 20)
    }

    @Test("of a backup: it is whole under its name or not there, and the one before stays until then")
    func backups() throws {
        let disk = SimulatedDisk()
        let data = disk.path + "/data"
        try Self.fill(data, Self.old)
        let folder = try DataFolder(path: data, durability: .full)
        let path = try folder.backupPath(of: "a", time: "1")
        _ = try Backup.make(of: "a", in: data, to: path)
        let name = "/data/backups/a-1.backup"
        do {
            let image = disk.imageAfterPowerCut(keeping: 0, seed: 1)
            #expect(try Backup.check(image.path + name).sequence == 1)
        }
        disk.beforeEachChange { [weak disk] number in
            guard let disk else { return }
            for (index, probability) in [1, 0, 0.5].enumerated() {
                let image = disk.imageAfterPowerCut(keeping: probability, seed: UInt64(number * 3 + index))
                #expect(throws: Never.self, "cut \(number), \(probability) kept") {
                    try Backup.check(image.path + name)
                }
            }
        }
        _ = try Backup.make(of: "a", in: data, to: path)
    }
}
