import Glibc
import HearthRealtimeDatabase
import HearthTestSupport
import Testing
import HearthTreeStorage
import HearthStorageErrors

@Suite("a data folder")
struct DataFolderTests {
    private let folder = TemporaryFolder()

    @Test("is made when it is missing, and knows its databases")
    func databases() throws {
        let data = try DataFolder(path: folder.path + "/new", durability: .process)
        #expect(data.databases == [])
        let (log, tree) = try data.open("b-1", newEpoch: 5)
        #expect(log.epochs.current.name == 5)
        #expect(log.lastSequence == 0)
        #expect(tree.sequence == 0)
        _ = try data.open("A_2", newEpoch: 5)
        #expect(data.databases == ["A_2", "b-1"])
    }

    @Test("has one server at a time")
    func lock() throws {
        var first: DataFolder? = try DataFolder(path: folder.path, durability: .full)
        let path = folder.path
        #expect(throws: StorageError.busy("another server uses the data folder \(path)")) {
            try DataFolder(path: path, durability: .full)
        }
        #expect(first != nil)
        first = nil
        _ = try DataFolder(path: folder.path, durability: .full)
    }

    @Test("is free at once, also while a process that was just forked has the lock's descriptor")
    func forked() throws {
        var first: DataFolder? = try DataFolder(path: folder.path, durability: .full)
        let copy = try #require(DescriptorCopy(ofFile: folder.path + "/lock"))
        #expect(throws: StorageError.busy("another server uses the data folder \(folder.path)")) {
            try DataFolder(path: folder.path, durability: .full)
        }
        _ = first
        first = nil
        withExtendedLifetime(copy) {
            #expect(throws: Never.self) { try DataFolder(path: folder.path, durability: .full) }
        }
    }

    @Test(
        "a removal that was interrupted is completed at the next start, unless it was given up",
        arguments: [false, true])
    func removing(isGivenUp: Bool) throws {
        do {
            let data = try DataFolder(path: folder.path, durability: .full)
            for name in ["a", "b"] { _ = try data.open(name, newEpoch: 5) }
            try data.remove("b")
            #expect(data.databases == ["a"])
            // As a removal does first.
            TemporaryFolder.write([], to: "\(folder.path)/a.removing")
            if isGivenUp { try data.endRemoval("a") }
        }
        let data = try DataFolder(path: folder.path, durability: .full)
        #expect(data.databases == (isGivenUp ? ["a"] : []))
    }

    @Test("tells in one look which databases have files, and which have copies of a restore")
    func listing() throws {
        let data = try DataFolder(path: folder.path, durability: .full)
        #expect(data.listed.withFiles.isEmpty && data.listed.withRestoredCopies.isEmpty)
        for name in ["a", "b", DataFolder.clusterDatabase] { _ = try data.open(name, newEpoch: 5) }
        let others = [
            "c.restoring", "d.rules", "e.visiting", "a.7.restored", "f.18446744073709551615.restored", "g.x.restored",
            "h.restored", "i.1.2.restored", "$cluster.7.restored", "j.tree-wal",
        ]
        for file in others { TemporaryFolder.write([], to: "\(folder.path)/\(file)") }
        let listed = data.listed
        #expect(listed.withFiles == ["a", "b", "c", DataFolder.clusterDatabase])
        #expect(listed.withRestoredCopies == ["a", "f"])
        for name in ["a", "b", "c", "d", "e", "f", "j", DataFolder.clusterDatabase] {
            #expect(data.hasDatabase(name) == listed.withFiles.contains(name), "\(name)")
        }
        #expect(data.databases == ["a", "b", "c"])
    }

    @Test(
        "a name is safe as the name of a file",
        arguments: [
            ("a", true), ("A-z_09", true), (String(repeating: "x", count: 64), true),
            (String(repeating: "x", count: 65), false), ("", false), (".", false), ("..", false), ("a/b", false),
            ("a.b", false), ("é", false), ("a b", false), ("a\0b", false), ("%41", false),
        ])
    func names(name: String, isValid: Bool) {
        #expect(DatabaseName.isValid(name) == isValid)
    }

    @Test("says when it cannot be made or written")
    func unwritable() throws {
        TemporaryFolder.write([], to: folder.path + "/file")
        for path in ["/file/data", "/none/data"] {
            #expect { try DataFolder(path: folder.path + path, durability: .full) } throws: { error in
                if case .readOnly = error as? StorageError { true } else { false }
            }
        }
        let data = try DataFolder(path: folder.path + "/data", durability: .full)
        chmod(folder.path, 0o755)
        chmod(folder.path + "/data", 0o555)
        // Permissions do not hold for the superuser, so this thread acts for somebody else meanwhile.
        let symbol = try #require(dlsym(nil, "setfsuid"))
        let actAs = unsafeBitCast(symbol, to: (@convention(c) (uid_t) -> Int32).self)
        let user = actAs(geteuid() == 0 ? 65534 : geteuid())
        let result = Result { try data.open("a", newEpoch: 1) }
        _ = actAs(uid_t(user))
        #expect { try result.get() } throws: { error in
            if case .readOnly = error as? StorageError { true } else { false }
        }
    }

    @Test("says when a file is not a database, or half of one", arguments: ["log", "tree"])
    func damage(kind: String) throws {
        let data = try DataFolder(path: folder.path, durability: .process)
        let path = folder.path + "/a." + kind
        TemporaryFolder.write(Array("This is a text file, and a long one so that its header is read.".utf8), to: path)
        #expect { try data.open("a", newEpoch: 1) } throws: { error in
            if case .damaged = error as? StorageError { true } else { false }
        }
        unlink(path)
        _ = try data.open("a", newEpoch: 1)
        // A header that promises more than there is.
        let bytes = TemporaryFolder.contents(of: path)
        TemporaryFolder.write(Array(bytes.prefix(5000)), to: path)
        unlink(path + "-wal")
        unlink(path + "-shm")
        #expect(throws: StorageError.damaged("database disk image is malformed (\(path))")) {
            try data.open("a", newEpoch: 1)
        }
    }

    @Test("notices files that do not belong together, unless a power loss may have parted them")
    func mismatch() throws {
        func open(_ durability: Durability) throws -> (log: LogFile, tree: TreeFile) {
            try DataFolder(path: folder.path, durability: durability).open("a", newEpoch: 1)
        }
        try open(.process).tree.apply(RowChanges(rows: [Row(key: [], value: .subtree("1"))]), upTo: 3)
        #expect {
            try open(.full)
        } throws: { error in
            if case .damaged(let detail) = error as? StorageError {
                detail.hasPrefix("a.tree is ahead of a.log")
            } else {
                false
            }
        }
        #expect(try open(.process).tree.sequence == 3)
    }

    @Test("of a server that keeps nothing is a temporary one")
    func memory() throws {
        var data: DataFolder? = try DataFolder(path: folder.path, durability: .memory)
        let path = try #require(data?.path)
        #expect(path != folder.path)
        _ = try data?.open("a", newEpoch: 1)
        #expect(!TemporaryFolder.files(in: path).isEmpty)
        data = nil
        #expect(access(path, F_OK) != 0)
        #expect(TemporaryFolder.files(in: folder.path) == [])
    }
}
