import Glibc
import HearthStorageErrors
import HearthTestSupport
import Synchronization
import Testing
import HearthTreeStorage

@testable import HearthBackups

@Suite("A restore of everything that does not come to its end")
struct BackupSetCrashTests {
    private let folder = TemporaryFolder()

    private enum Found: Equatable {
        case nothing, refused, everything
        case aPart(String)
    }

    /// Two databases, an account and rules.
    private func makeSet() throws -> BackupSet {
        let data = folder.path + "/data"
        do {
            let client = try IdentityClient(folder: data)
            _ = try client.signUp("ann@example.com")
            for name in ["default", "shop"] {
                #expect(try client.rest.ask("PUT", "/a.json?ns=\(name)", RESTClient.owner, "1").status == 200)
            }
            try client.rest.ask("PUT", "/.settings/rules.json?ns=shop", RESTClient.owner, #"{"rules":{}}"#)
        }
        return try BackupSet.make(of: data, in: folder.path + "/sets", now: 1_700_000_000_000)
    }

    private static func refusal(of path: String) -> StorageError {
        .busy(
            "a restore into \(path) has not come to its end: if it was interrupted, \(FolderRestore.advice(path))")
    }

    /// What a server that starts on a folder has of a set.
    private static func found(_ set: BackupSet, in path: String) -> Found {
        do throws(StorageError) {
            return try found(set, in: DataFolder(path: path, durability: .full))
        } catch {
            #expect(error == refusal(of: path))
            return .refused
        }
    }

    private static func found(_ set: BackupSet, in data: DataFolder) throws(StorageError) -> Found {
        let copied = set.files.filter { !$0.hasSuffix(".backup") }
        let whole = copied.filter { file in
            TemporaryFolder.contents(of: "\(data.path)/\(file)") == TemporaryFolder.contents(of: "\(set.path)/\(file)")
        }
        var filled: [String] = []
        for name in data.databases where try data.open(name, newEpoch: 9).log.lastSequence == 1 { filled.append(name) }
        if whole == copied, filled == set.databases { return .everything }
        return whole.isEmpty && filled.isEmpty ? .nothing : .aPart("\(whole) \(filled)")
    }

    @Test("leaves everything, nothing, or a folder that is not opened")
    func powerCuts() throws {
        let set = try makeSet()
        let disk = SimulatedDisk()
        let data = disk.path + "/data"
        let seen = Mutex<[Found]>([])
        disk.beforeEachChange { [weak disk] number in
            guard let disk else { return }
            for (index, probability) in [1, 0, 0.5].enumerated() {
                let image = disk.imageAfterPowerCut(keeping: probability, seed: UInt64(number * 3 + index))
                let found = Self.found(set, in: image.path + "/data")
                if case .aPart(let files) = found { Issue.record("cut \(number): \(files)") }
                seen.withLock { $0.append(found) }
            }
        }
        _ = try BackupSet.restore(set.path, in: data)
        disk.observe(nil)
        #expect(Self.found(set, in: data) == .everything)
        let found = seen.withLock { $0 }
        for expected in [Found.nothing, .refused, .everything] {
            #expect(found.contains(expected), "\(expected) was never seen")
        }
    }

    @Test("says what to do, then and whenever something wants to use the folder")
    func failure() throws {
        let set = try makeSet()
        let disk = SimulatedDisk()
        let data = disk.path + "/data"
        disk.observe { call, path in call == .open && path.hasSuffix("accounts.sqlite") ? EIO : 0 }
        let failed = #expect(throws: BackupError.self) { try BackupSet.restore(set.path, in: data) }
        disk.observe(nil)
        #expect(
            failed?.message.hasSuffix("; the restore is not complete: \(FolderRestore.advice(data))") == true)
        #expect(Self.found(set, in: data) == .refused)
        let refusal = BackupError(Self.refusal(of: data))
        #expect(throws: refusal) { try BackupSet.restore(set.path, in: data) }
        #expect(throws: refusal) { try BackupSet.make(of: data, in: folder.path + "/sets", now: 0) }
        #expect(throws: refusal) { try Backup.make(of: "shop", in: data, to: folder.path + "/copy") }
        #expect(throws: refusal) {
            try Backup.restore("\(set.path)/shop.backup", as: nil, in: data) { _ in }
        }
        // What the advice names is all that there is, but for the lock. Other things stay.
        let advice = FolderRestore.advice(data)
        let words = try #require(advice.split(separator: ": ").last).split(separator: ", ")
        TemporaryFolder.write([1], to: data + "/certificate.pem")
        for file in TemporaryFolder.files(in: data) {
            let isNamed = words.contains { word in
                let part = word.filter { $0 != "*" }
                return word.hasPrefix("*")
                    ? file.contains(part) : word.hasSuffix("*") ? file.hasPrefix(part) : file == part
            }
            if isNamed { #expect(unlink("\(data)/\(file)") == 0) }
        }
        #expect(TemporaryFolder.files(in: data) == ["certificate.pem", "lock"])
        _ = try BackupSet.restore(set.path, in: data)
        #expect(Self.found(set, in: data) == .everything)
    }
}
