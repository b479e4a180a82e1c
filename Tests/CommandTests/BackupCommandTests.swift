import HearthServerSupport
import Glibc
import HearthSQLite
import HearthTestSupport
import Testing

@Suite("hearth backup", .timeLimit(.minutes(15)))
struct BackupCommandTests {
    private let folder = TemporaryFolder()
    private var data: String { folder.path + "/data" }

    /// Fills the data folder, and leaves it unused.
    private func fill() async throws {
        let server = try await ServerProcess(data)
        #expect(try await HearthProcess.run("set", "/a", "1", "--url", "ws://\(server.address)").code == 0)
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0)
    }

    @Test(
        "one that is interrupted leaves nothing of its own",
        arguments: [(SIGINT, ["FILE"]), (SIGTERM, ["FILE"]), (SIGHUP, ["FILE"]), (SIGINT, ["--to", "DIR"])])
    func interrupted(signal: Int32, target: [String]) async throws {
        try await fill()
        let sets = folder.path + "/sets"
        mkdir(sets, 0o700)
        // The backup waits for the holder of the exclusive lock on the tree.
        let owner = try Connection(path: data + "/default.tree", mode: .joining)
        try owner.execute("PRAGMA locking_mode = EXCLUSIVE")
        try owner.execute("BEGIN EXCLUSIVE")
        let words = target.map { $0 == "FILE" ? sets + "/copy" : $0 == "DIR" ? sets : $0 }
        let process = try HearthProcess(["backup", "--data", data] + words)
        // The backup gives up after ten seconds: on a thread of its own, this needs not wait for tasks of other tests.
        try await onThread {
            try blockUntil("the beginning of the backup") {
                if process.hasEnded { return true }
                let begun = TemporaryFolder.files(in: sets)
                return target.count == 1
                    ? begun == ["copy.part"] : begun.contains { !TemporaryFolder.files(in: "\(sets)/\($0)").isEmpty }
            }
            process.signal(signal)
        }
        let outcome = try await process.outcome()
        #expect(outcome.code == 128 + signal, "\(outcome)")
        #expect(outcome.output.isEmpty, "\(outcome)")
        #expect(TemporaryFolder.files(in: sets) == [])
        try owner.execute("COMMIT")
    }

    @Test("one for which there is no room, or which cannot get its name, leaves nothing of its own")
    func failed() async throws {
        try await fill()
        let copies = folder.path + "/copies"
        mkdir(copies, 0o700)
        let hearth = try HearthProcess.binary
        for words in ["\(copies)/copy", "--to \(copies)"] {
            // No file may have more than a kilobyte.
            let line = "ulimit -f 2; '\(hearth)' backup \(words) --data '\(data)'"
            let full = try await HearthProcess(program: "/bin/sh", ["-c", line]).outcome()
            #expect(full.code == 1, "\(full)")
            #expect(full.errors.hasPrefix("hearth backup: "), "\(full)")
            #expect(TemporaryFolder.files(in: copies) == [])
        }
        mkdir(copies + "/copy", 0o700)
        let taken = try await HearthProcess.run("backup", copies + "/copy", "--overwrite", "--data", data)
        #expect(taken.code == 1, "\(taken)")
        #expect(taken.errors.contains("cannot rename"), "\(taken)")
        #expect(TemporaryFolder.files(in: copies) == ["copy"])
    }
}
