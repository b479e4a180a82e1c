import HearthServerSupport
import Glibc
import HearthTestSupport
import Testing

/// As in the systemd unit: the server runs as a user of its own, and its administrator is root.
@Suite(
    "Root and the data folder of another user",
    .enabled(
        if: OtherUser.isPossible,
        "this needs root and the program setpriv: who runs the tests is not root, or it is missing"),
    .timeLimit(.minutes(15)))
struct OtherUserTests {
    private let folder = TemporaryFolder()
    private var data: String { folder.path + "/data" }
    private var rules: String { folder.path + "/rules.json" }

    init() throws {
        TemporaryFolder.write(Array(#"{"rules":{"a":{".read":true,".write":true}}}"#.utf8), to: rules)
        try #require(mkdir(data, 0o700) == 0)
        for path in [folder.path, data, rules] { try #require(chown(path, OtherUser.id, OtherUser.id) == 0) }
    }

    /// All files of the data folder belong to its owner, who alone may read them.
    private func expectOwned() throws {
        for name in TemporaryFolder.files(in: data) {
            var status = stat()
            try #require(stat("\(data)/\(name)", &status) == 0)
            #expect(status.st_uid == OtherUser.id, "\(name)")
            #expect(status.st_gid == OtherUser.id, "\(name)")
            #expect(status.st_mode & 0o077 == 0, "\(name)")
        }
    }

    private func serve(_ more: String...) async throws -> (process: HearthProcess, address: String) {
        let process = try OtherUser.start(
            [
                "serve", "--data", data, "--rules", rules, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                "--log-level", "warning",
            ] + more)
        while let line = await process.line() {
            let ready = "hearth: ready on "
            if line.hasPrefix(ready) { return (process, String(line.dropFirst(ready.count).dropLast())) }
        }
        throw ServerProcess.NotStarted(outcome: try await process.outcome())
    }

    private func stop(_ process: HearthProcess) async throws {
        process.signal(SIGTERM)
        #expect(try await process.outcome().code == 0)
    }

    @Test("a key that root makes works with the running server, and the server starts again")
    func key() async throws {
        var server = try await serve()
        let key = folder.path + "/root.json"
        let made = try await HearthProcess.run("admin", "create-key", key, "--data", data)
        #expect(made.code == 0, "\(made)")
        try expectOwned()
        // The key itself is root's.
        var status = stat()
        #expect(stat(key, &status) == 0)
        #expect(status.st_uid == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(try await HearthProcess.run("users", "list", "--key", key).code == 0)
        let second = try await HearthProcess.run("admin", "create-key", folder.path + "/second.json", "--data", data)
        #expect(second.code == 0)
        try await stop(server.process)
        server = try await serve()
        let id = try #require(
            try await HearthProcess.run("admin", "keys", "--data", data).output.split(separator: " ").first)
        #expect(try await HearthProcess.run("admin", "remove-key", String(id), "--data", data).code == 0)
        try expectOwned()
        try await stop(server.process)
        try await stop(try await serve().process)
    }

    @Test("what root backs up and restores, the server serves")
    func restore() async throws {
        var server = try await serve()
        let url = "ws://\(server.address)"
        #expect(try await HearthProcess.run("set", "/a", "1", "--url", url).code == 0)
        let copy = folder.path + "/copy"
        #expect(try await HearthProcess.run("backup", copy, "--data", data).code == 0)
        try expectOwned()
        #expect(try await HearthProcess.run("set", "/a", "2", "--url", url).code == 0)
        try await stop(server.process)
        #expect(try await HearthProcess.run("backup", folder.path + "/later", "--data", data).code == 0)
        let restored = try await HearthProcess.run("restore", copy, "--data", data)
        #expect(restored.code == 0, "\(restored)")
        try expectOwned()
        server = try await serve()
        let again = "ws://\(server.address)"
        #expect(try await HearthProcess.run("get", "/a", "--url", again).output == "1\n")
        #expect(try await HearthProcess.run("set", "/a", "3", "--url", again).code == 0)
        try await stop(server.process)
    }

    /// Runs a command as root that has to succeed.
    private func run(_ words: String...) async throws {
        let outcome = try await HearthProcess(words).outcome()
        #expect(outcome.code == 0, "\(words): \(outcome)")
    }

    @Test("each command that takes a data folder is among those of these tests")
    func allCommands() async throws {
        var found: Set<Substring> = []
        let overview = try await HearthProcess.run("help").output
        let names = overview.split(separator: "\n").filter { $0.hasPrefix("  ") }.compactMap {
            $0.split(separator: " ").first
        }
        #expect(names.count > 30, "\(overview)")
        for name in names where try await HearthProcess.run("help", String(name)).output.contains("--data DIR") {
            found.insert(name)
        }
        // Those of `cluster` need etcd: ClusterCommandTests.
        #expect(
            found == ["admin", "backup", "check", "cluster", "doctor", "erase", "health", "restore", "serve", "verify"])
    }

    @Test("what only reads leaves all files to their owner, whether a server runs or not")
    func reading() async throws {
        let server = try await serve()
        try await run("set", "/a", "1", "--url", "ws://\(server.address)")
        try await run("health", "--data", data)
        for isRunning in [true, false] {
            if !isRunning { try await stop(server.process) }
            for command in ["check", "verify"] { try await run(command, "--data", data) }
            // It has something to say of a server in this test, so its status does not matter.
            _ = try await HearthProcess.run("doctor", "--data", data, "--rules", rules)
            try expectOwned()
        }
        try await stop(try await serve().process)
    }

    @Test("what root erases is gone, and the server starts again")
    func erase() async throws {
        var server = try await serve()
        let url = "ws://\(server.address)"
        for value in ["1", "2"] { try await run("set", "/a/secret", value, "--url", url) }
        try await run("set", "/a/other", "3", "--url", url)
        try await stop(server.process)
        try await run("erase", "/a/secret", "--data", data, "--yes")
        try expectOwned()
        server = try await serve()
        #expect(try await HearthProcess.run("get", "/a/other", "--url", "ws://\(server.address)").output == "3\n")
        try await run("set", "/a/other", "4", "--url", "ws://\(server.address)")
        try await stop(server.process)
    }

    @Test("what root restores into an empty folder, from a folder of backups and from an archive, the server serves")
    func restoreAll() async throws {
        let archive = folder.path + "/archive"
        let server = try await serve("--archive", archive, "--archive-seconds", "1")
        try await run("set", "/a", "1", "--url", "ws://\(server.address)")
        let sets = folder.path + "/sets"
        try #require(mkdir(sets, 0o700) == 0)
        try await run("backup", "--to", sets, "--data", data)
        try expectOwned()
        let set = try #require(TemporaryFolder.files(in: sets).first)
        // The end of the server brings the last commits into the archive.
        try await stop(server.process)
        for words in [["\(sets)/\(set)"], ["--archive", archive, "--all"], ["--archive", archive]] {
            for name in TemporaryFolder.files(in: data) { unlink("\(data)/\(name)") }
            let restored = try await HearthProcess(["restore"] + words + ["--data", data]).outcome()
            #expect(restored.code == 0, "\(words): \(restored)")
            try expectOwned()
            let server = try await serve()
            let url = "ws://\(server.address)"
            #expect(try await HearthProcess.run("get", "/a", "--url", url).output == "1\n", "\(words)")
            try await run("set", "/a", "2", "--url", url)
            try await stop(server.process)
        }
    }

    @Test(
        "what root restores of a cluster's database, the node serves",
        .enabled(if: EtcdServers.isInstalled, "etcd is not installed"))
    func restoreOfCluster() async throws {
        let etcd = try await onThread { try EtcdServers(count: 1) }
        let members = "etcd://127.0.0.1:\(etcd.ports[0])"
        let node = try await serve("--no-auth", "--cluster", members, "--node", "n1")
        let url = "ws://\(node.address)"
        try await eventually("a write") { try await HearthProcess.run("set", "/a", "1", "--url", url).code == 0 }
        let copy = folder.path + "/copy"
        try await run("backup", copy, "--data", data)
        try await run("set", "/a", "2", "--url", url)
        try await run("cluster", "restore", "default", "--from", copy, "--data", data, "--cluster", members, "-y")
        try await eventually("the backup") {
            try await HearthProcess.run("get", "/a", "--url", url).output == "1\n"
        }
        // Files are opened, replaced and removed by the node.
        try expectOwned()
        try await run("set", "/a", "3", "--url", url)
        try await stop(node.process)
        try expectOwned()
    }

    @Test("root does not serve the folder by mistake, and is told the command that does")
    func serveAsRoot() async throws {
        let outcome = try await HearthProcess.run("serve", "--data", data, "--rules", rules, "--listen", "127.0.0.1:0")
        #expect(outcome.code == 64, "\(outcome)")
        #expect(outcome.errors.contains("belongs to the user \(OtherUser.name)"), "\(outcome)")
        #expect(outcome.errors.contains("sudo -u '\(OtherUser.name)' hearth serve"), "\(outcome)")
        #expect(TemporaryFolder.files(in: data).isEmpty)
    }
}

/// The user `nobody`.
private enum OtherUser {
    static let id: uid_t = 65534
    private static let setpriv = "/usr/bin/setpriv"

    static var isPossible: Bool { geteuid() == 0 && access(setpriv, X_OK) == 0 }

    static var name: String { getpwuid(id).map { String(cString: $0.pointee.pw_name) } ?? "#\(id)" }

    static func start(_ words: [String]) throws -> HearthProcess {
        let binary = try HearthProcess.binary
        let identity = ["--reuid", "\(id)", "--regid", "\(id)", "--clear-groups"]
        return try HearthProcess(program: setpriv, identity + [binary] + words)
    }
}
