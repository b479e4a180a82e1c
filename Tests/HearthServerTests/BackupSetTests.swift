import HearthEventLoop
import Glibc
import HearthTestSupport
import Testing
import HearthTreeStorage
import HearthStorageErrors

@testable import HearthBackups

@Suite("Backups of everything")
struct BackupSetTests {
    private let folder = TemporaryFolder()
    private var data: String { folder.path + "/data" }
    private var target: String { folder.path + "/sets" }
    private static let day: Int64 = 86_400_000

    /// A data folder with two databases, an account and rules.
    private func fill() throws {
        let client = try IdentityClient(folder: data)
        _ = try client.signUp("ann@example.com")
        let rest = client.rest
        for name in ["default", "shop"] {
            #expect(try rest.ask("PUT", "/a.json?ns=\(name)", RESTClient.owner, "\"\(name)\"").status == 200)
        }
        try rest.ask("PUT", "/.settings/rules.json?ns=shop", RESTClient.owner, #"{"rules":{".read":true}}"#)
    }

    @Test("hold all databases, the accounts and the rules, and restore to them in a new folder")
    func roundTrip() throws {
        try fill()
        let set = try BackupSet.make(of: data, in: target, now: 1_700_000_000_000)
        #expect(set.path == target + "/hearth-2023-11-14T221320000Z".filter { $0 != "." })
        #expect(set.databases == ["default", "shop"])
        #expect(Set(set.files).isSuperset(of: ["accounts.sqlite", "shop.rules"]))
        #expect(try BackupSet.check(set.path).files == set.files)
        let status = try #require(BackupStatus(in: data))
        #expect(status.time == 1_700_000_000_000)
        #expect(status.byteCount == set.byteCount)

        let new = folder.path + "/new"
        _ = try BackupSet.restore(set.path, in: new)
        let client = try IdentityClient(folder: new)
        #expect(try client.rest.ask("GET", "/a.json?ns=shop", RESTClient.owner).text == "\"shop\"")
        #expect(try client.rest.ask("GET", "/a.json?ns=default", RESTClient.owner).text == "\"default\"")
        #expect(try client.signIn("ann@example.com").status == 200)
        #expect(try client.rest.ask("GET", "/.settings/rules.json?ns=shop", RESTClient.owner).text.contains(".read"))
    }

    @Test("have rules and settings that were replaced together from one replacement")
    func rulesAndSettings() throws {
        try fill()
        // A server that was stopped before they were in their own files.
        let both = #"{"rules":"{\"rules\":{\".write\":true}}","settings":"{\"settings\":{\"a\":{}}}"}"#
        TemporaryFolder.write(Array(both.utf8), to: data + "/shop.publication")
        let set = try BackupSet.make(of: data, in: target, now: 1_700_000_000_000)
        let new = folder.path + "/new"
        _ = try BackupSet.restore(set.path, in: new)
        let rest = try IdentityClient(folder: new).rest
        #expect(
            try rest.ask("GET", "/.settings/rules-and-settings.json?ns=shop", RESTClient.owner).text == both)
        #expect(!FolderContents(new).files.contains("shop.publication"))
    }

    @Test("replace nothing: neither a set of the same time, nor a folder with data")
    func noOverwriting() throws {
        try fill()
        let set = try BackupSet.make(of: data, in: target, now: 1_700_000_000_000)
        let again = #expect(throws: BackupError.self) {
            try BackupSet.make(of: data, in: target, now: 1_700_000_000_000)
        }
        #expect(again?.message == "\(set.path) is there already")
        let occupied = #expect(throws: BackupError.self) { try BackupSet.restore(set.path, in: data) }
        #expect(occupied?.message.hasPrefix("\(data) is not empty: it has default.") == true)
    }

    @Test("that are damaged, cut short or from a later version are refused")
    func damage() throws {
        try fill()
        let set = try BackupSet.make(of: data, in: target, now: 1_700_000_000_000)
        for file in set.files {
            let path = "\(set.path)/\(file)"
            let good = TemporaryFolder.contents(of: path)
            var bad = good
            bad[bad.count / 2] ^= 1
            TemporaryFolder.write(bad, to: path)
            let error = #expect(throws: BackupError.self, "\(file)") { try BackupSet.check(set.path) }
            #expect(error?.message.contains("\(file) is not the file that the manifest names") == true)
            let refused = #expect(throws: BackupError.self) {
                try BackupSet.restore(set.path, in: folder.path + "/new")
            }
            #expect(refused == error)
            unlink(path)
            #expect(throws: BackupError(message: "cannot read \(path): No such file or directory")) {
                try BackupSet.check(set.path)
            }
            TemporaryFolder.write(good, to: path)
        }
        #expect(access(folder.path + "/new", F_OK) != 0)
        #expect(try BackupSet.check(set.path).files == set.files)
        let manifest = set.path + "/manifest.json"
        let text = String(decoding: TemporaryFolder.contents(of: manifest), as: UTF8.self)
        TemporaryFolder.write(Array(text.replacing("\"format\":1", with: "\"format\":2").utf8), to: manifest)
        let later = #expect(throws: BackupError.self) { try BackupSet.check(set.path) }
        #expect(later?.message.contains("a later version") == true)
    }

    @Test("the oldest go, with what is left of backups that failed, and the last one stays")
    func pruning() throws {
        try fill()
        var paths: [String] = []
        for day in 0..<4 {
            paths.append(try BackupSet.make(of: data, in: target, now: 1_700_000_000_000 + Int64(day) * Self.day).path)
        }
        mkdir(target + "/hearth-x.part", 0o700)
        mkdir(target + "/other", 0o700)
        #expect(BackupSet.prune(target, keeping: 2) == Array(paths[..<2]) + [target + "/hearth-x.part"])
        #expect(BackupSet.list(in: target).map(\.path) == Array(paths[2...]))
        #expect(access(target + "/other", F_OK) == 0)
        #expect(BackupSet.prune(target, keeping: 0) == [paths[2]])
        #expect(try BackupSet.check(paths[3]).databases == ["default", "shop"])
    }

    @Test("a backup that is being made stays, and of what stays nobody says that it was removed")
    func unfinished() throws {
        try fill()
        let path = try BackupSet.make(of: data, in: target, now: 0).path
        let partial = target + "/hearth-x.part"
        mkdir(partial, 0o700)
        let lock = RemainsLock(partial)
        #expect(!lock.isHeldElsewhere)
        #expect(BackupSet.prune(target, keeping: 1) == [])
        #expect(access(partial, F_OK) == 0)
        mkdir(target + "/hearth-y.part", 0o700)
        mkdir(target + "/hearth-y.part/folder", 0o700)
        #expect(BackupSet.prune(target, keeping: 1) == [])
        #expect(BackupSet.list(in: target).map(\.path) == [path])
        withExtendedLifetime(lock) {}
    }

    @Test("a full disk is not called that of the data folder, as the copy may be elsewhere")
    func fullDisk() {
        #expect(BackupError(.full).message == "no space left on the device of the copy")
    }

    @Test("a folder that cannot be copied leaves nothing")
    func failure() throws {
        #expect(throws: BackupError(message: "there is no data folder \(data)")) {
            try BackupSet.make(of: data, in: target, now: 0)
        }
        try #require(mkdir(data, 0o700) == 0)
        #expect(throws: BackupError(message: "there is nothing in \(data)")) {
            try BackupSet.make(of: data, in: target, now: 0)
        }
        #expect(TemporaryFolder.files(in: target) == [])
        #expect(BackupStatus(in: data) == nil)
    }
}
