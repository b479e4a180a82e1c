import HearthServerSupport
import Glibc
import HearthSystem
import HearthTestSupport
import HearthTreeStorage
import Testing

@Suite("hearth restore", .timeLimit(.minutes(15)))
struct RestoreCommandTests {
    @Test(
        "when it was interrupted, no command opens the folder, and each says what to do",
        arguments: [
            "serve --dev --listen 127.0.0.1:0", "serve --dev --listen 127.0.0.1:0 --check", "backup copy",
            "backup --to sets", "check", "verify", "erase /a --yes", "erase /a --database other --yes",
            "admin keys", "restore x",
        ])
    func interrupted(command: String) async throws {
        let folder = TemporaryFolder()
        let (source, data) = (folder.path + "/source", folder.path + "/data")
        let server = try await ServerProcess(source)
        #expect(try await HearthProcess.run("set", "/a", "1", "--url", "ws://\(server.address)").code == 0)
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0)
        #expect(try await HearthProcess.run("backup", folder.path + "/x", "--data", source).code == 0)
        let before = ["default.log", "default.tree", "restoring"]
        mkdir(data, 0o700)
        for file in before { TemporaryFolder.write([], to: "\(data)/\(file)") }
        let words = command.split(separator: " ").map { word in
            ["copy", "sets", "x"].contains(word) ? "\(folder.path)/\(word)" : String(word)
        }
        let outcome = try await HearthProcess(words + ["--data", data]).outcome()
        #expect(outcome.code != 0, "\(outcome)")
        let text = "a restore into \(data) has not come to its end: if it was interrupted, remove these files from"
        #expect((outcome.errors + outcome.output).contains(text), "\(outcome)")
        #expect(TemporaryFolder.files(in: data).filter { $0 != "lock" }.sorted() == before)
    }

    /// A server on a folder that has a value written, and stops.
    private func write(_ value: String, in data: String) async throws {
        let server = try await ServerProcess(data)
        #expect(try await HearthProcess.run("set", "/a", value, "--url", "ws://\(server.address)").code == 0)
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0)
    }

    @Test("from an archive tells the last commit, and asks if commits or accounts are known to be missing")
    func gaps() async throws {
        let folder = TemporaryFolder()
        let (data, archive) = (folder.path + "/data", folder.path + "/archive")
        #expect(FolderSync.makeFolder(archive) == 0)
        var keeper = DatabaseArchive(of: "default", in: data, to: archive, settings: .init()) { 0 }
        func restore(_ words: String...) async throws -> (outcome: HearthProcess.Outcome, isThere: Bool) {
            let target = folder.path + "/restored"
            let outcome = try await HearthProcess(
                ["restore", "--archive", archive, "--data", target] + words
            ).outcome()
            let isThere = access(target + "/default.tree", F_OK) == 0
            if isThere { #expect(rename(target, "\(folder.path)/\(WallClock.milliseconds)-done") == 0) }
            return (outcome, isThere)
        }

        try await write("1", in: data)
        _ = try keeper.advance()
        var (outcome, isThere) = try await restore("--at", "2100-01-01T00:00:00Z")
        #expect(outcome.code == 0 && isThere, "\(outcome)")
        let pattern = #/^restored default as of 2100-\S+ in .*, up to sequence 1, committed at (2.*Z)\n$/#
        let time = try #require(outcome.output.wholeMatch(of: pattern)?.1, "\(outcome)")
        #expect(
            outcome.errors == "hearth restore: the archive of default ends with the commit of \(time), "
                + "and cannot tell of later ones\n")
        outcome = try await restore("--at", "2100-01-01T00:00:00Z", "-o", "json").outcome
        let number = try #require(Timestamp(parsing: String(time))).milliseconds
        #expect(outcome.output.hasSuffix("\"sequence\":1,\"time\":\(number)}\n"), "\(outcome)")

        (outcome, isThere) = try await restore("--all")
        #expect(outcome.code == 1 && !isThere, "\(outcome)")
        let accounts = "the archive has no accounts, keys, rules and settings"
        #expect(
            outcome.errors
                == "hearth restore: restore what there is of the end of the archive, although \(accounts): "
                + "-y says that you are sure\n")
        (outcome, isThere) = try await restore("--all", "-y")
        #expect(outcome.code == 0 && isThere, "\(outcome)")
        #expect(outcome.errors == "hearth restore: \(accounts)\n")

        // The numbers after the backup are given out again.
        #expect(try await HearthProcess.run("backup", folder.path + "/copy", "--data", data).code == 0)
        try await write("2", in: data)
        _ = try keeper.advance()
        let between = "\(Timestamp(milliseconds: WallClock.milliseconds + 1))"
        #expect(try await HearthProcess.run("restore", folder.path + "/copy", "--data", data).code == 0)
        try await write("3", in: data)
        #expect(try keeper.advance().hasGap)
        (outcome, isThere) = try await restore("--at", between)
        #expect(outcome.code == 1 && !isThere, "\(outcome)")
        let gap = #/commits of default between 2.*Z and 2.*Z may be missing/#
        #expect(outcome.errors.contains(gap), "\(outcome)")
        #expect(outcome.errors.hasSuffix(": -y says that you are sure\n"), "\(outcome)")
        (outcome, isThere) = try await restore("--at", between, "--yes")
        #expect(outcome.code == 0 && isThere, "\(outcome)")
        #expect(outcome.output.contains(", up to sequence 2, committed at 2"), "\(outcome)")
        #expect(outcome.errors.contains(gap), "\(outcome)")
        let windows = try await HearthProcess.run("restore", "--archive", archive, "--check")
        #expect(windows.output.split(separator: "\n").count == 2, "\(windows)")
    }
}
