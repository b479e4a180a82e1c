import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthTreeStorage

@Suite("formats of files")
struct FormatVersionTests {
    private static let files = ["default.log", "default.tree"]

    private static func version(of file: String) throws -> Int64? {
        try Connection(path: file, mode: .readOnly).integer("PRAGMA user_version")
    }

    /// What a database has in its two files.
    private static func value(in path: String) throws -> CanonicalJSON {
        let folder = try DataFolder(path: path, durability: .process)
        let (log, tree) = try folder.open("default", newEpoch: 1)
        let database = Database(index: 0, store: try tree.makeReader(), sequence: tree.sequence)
        try database.load()
        try log.forEachRecord(after: tree.sequence) { (record) throws(StorageError) in
            try database.replay(record.operations())
        }
        #expect(log.lastSequence == 3)
        let request = Request(
            connection: ConnectionID(loop: 0, kind: .http, serial: 1), number: 0, operation: .get(.root))
        _ = database.process([request], now: 0)
        guard case .reply(_, _, .value(let value))? = database.takeReady().last else { return .null }
        return value
    }

    @Test("files of earlier versions are read, and brought to this one", arguments: EarlierFolder.all)
    func earlier(version: String) throws {
        let folder = EarlierFolder(version)
        #expect(try Self.version(of: folder.path + "/default.log") == 0)
        let expected: CanonicalJSON =
            #"{"base":{"a":1,"b":{".priority":5,"c":"two"},"later":true},"scores":{"x":3,"y":1,"z":2}}"#
        for _ in 0..<2 {
            #expect(try Self.value(in: folder.path) == expected)
            #expect(try Self.version(of: folder.path + "/default.log") == LogFormat.version)
            #expect(try Self.version(of: folder.path + "/default.tree") == TreeFormat.version)
        }
        #expect(DatabaseCheck("default", in: folder.path, isServed: false).problems == [])
    }

    @Test("files of earlier versions can be backed up before they are opened", arguments: EarlierFolder.all)
    func backup(version: String) throws {
        let (folder, target) = (EarlierFolder(version), TemporaryFolder())
        _ = try Backup.make(of: "default", in: folder.path, to: target.path + "/backup")
        _ = try Backup.restore(target.path + "/backup", as: nil, in: target.path) { _ in }
        #expect(try Self.version(of: target.path + "/default.log") == LogFormat.version)
        #expect(try Self.value(in: target.path) == Self.value(in: folder.path))
    }

    @Test("a file of a newer version is left alone, with a sentence that says so", arguments: files)
    func newer(file: String) throws {
        let folder = EarlierFolder("0.1.0")
        let path = "\(folder.path)/\(file)"
        _ = try Self.value(in: folder.path)
        try Connection(path: path, mode: .readWrite).execute("PRAGMA user_version = 99")
        let known = file.hasSuffix("log") ? LogFormat.version : TreeFormat.version
        let error = StorageError.newerFormat(path: path, found: 99, known: known)
        #expect(throws: error) {
            _ = try DataFolder(path: folder.path, durability: .process).open("default", newEpoch: 1)
        }
        #expect(
            error.message == """
                \(path) was written by a newer version of hearth (its format is 99, and this version reads up to \(known)): \
                start that version, or restore a backup
                """)
        let check = DatabaseCheck("default", in: folder.path, isServed: false)
        #expect(check.problems == [error.message])
        #expect(check.isNewer)
        #expect(throws: BackupError(error)) {
            _ = try Backup.make(of: "default", in: folder.path, to: folder.path + "/backup")
        }
        #expect(try Self.version(of: path) == 99)
    }
}
